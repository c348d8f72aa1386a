package ops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
	"floe/transport/ice/proto"
)

// bystander is an Ice client, and a native subscriber's topic, that bad input of others must not touch.
type bystander struct {
	n    *floetest.Node
	conn *ice.Conn
	rss  int64
}

func newBystander(t *testing.T, flags ...string) *bystander {
	t.Helper()
	n := floetest.NewNode(t, "n1", flags...)
	n.Start()
	n.WaitReady()
	n.Must("create", "T")
	conn, err := ice.Dial(n.Ice(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := &bystander{n: n, conn: conn}
	b.publish(t)
	b.rss = n.RSS()
	return b
}

// publish uses the connection that was there before.
func (b *bystander) publish(t *testing.T) {
	t.Helper()
	proxy, err := b.conn.TopicProxy("T", 10*time.Second)
	if err == nil {
		_, err = b.conn.Publisher(proxy.Identity, 10*time.Second)
	}
	if err != nil {
		t.Fatalf("a connection that sent nothing bad: %v", err)
	}
}

// unharmed checks that everything goes on, and that memory grew by less than that, in bytes.
func (b *bystander) unharmed(t *testing.T, grown int64) {
	t.Helper()
	b.publish(t)
	if got := names(t, b.n); len(got) != 1 || got[0] != "T" {
		t.Errorf("topics %v", got)
	}
	b.n.Must("pub", "T", "x")
	t.Logf("memory %.1f MB before, %.1f MB after", float64(b.rss)/mb, float64(b.n.RSS())/mb)
	if now := b.n.RSS(); now > b.rss+grown {
		t.Errorf("memory grew from %d to %d", b.rss, now)
	}
}

// iceHeader is a header of protocol 1.0 (frames of spec Ice Protocol, Message Header).
func iceHeader(kind byte, size int32) string {
	return string(binary.LittleEndian.AppendUint32([]byte{'I', 'c', 'e', 'P', 1, 0, 1, 0, kind, 0}, uint32(size)))
}

// request is a whole ice_ping of the topic manager.
func request() string {
	return string(proto.AppendRequest(nil, &proto.Request{ID: 1, Identity: ice.Manager, Operation: []byte("ice_ping"), Mode: proto.ModeNonmutating}))
}

var garbage = func() string {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, 4096)
	_, _ = r.Read(b) // never fails
	b[0] = 0x03      // first byte of nothing
	return string(b)
}()

// What can't be the port's protocol, and frames that stand still: each connection is closed, soon or after 5 s.
var badInput = map[string]map[string]string{
	"peer": {
		"garbage": garbage, "zeros": strings.Repeat("\x00", 64), "http": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"an Ice client": request(), "tls": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "one byte": "\xf1", "half a preamble": "\xf1FLO",
		"another version": "\xf1FLOE\xff\x01\x00", "no such kind": "\xf1FLOE\x02\xff\x00",
		"raft garbage": "\xf1FLOE\x02\x01\x00" + garbage, "raft oversized": "\xf1FLOE\x02\x01\x00" + "\x00\xdf\xff\xff\xff\xff",
		"rpc oversized": "\xf1FLOE\x02\x03\x00" + strings.Repeat("\xff", 64), "rpc truncated": "\xf1FLOE\x02\x03\x00" + "\x00\x00",
		"gossip garbage": "\xf1FLOE\x02\x02\x00" + garbage, "events oversized": "\xf1FLOE\x02\x04\x00" + strings.Repeat("\xff", 64),
	},
	"ice": {
		"garbage": garbage, "zeros": strings.Repeat("\x00", 64), "http": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"a floe node": "\xf1FLOE\x02\x01\x00", "tls": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"another protocol": "IceP\x02\x00\x01\x00\x00\x00\x0e\x00\x00\x00", "no such type": iceHeader(9, 14),
		"size 2^31-1": iceHeader(0, 1<<31-1), "negative size": iceHeader(0, -1), "size 13": iceHeader(0, 13), "over the limit": iceHeader(0, 1<<20+1),
		"truncated request": request()[:30], "one byte": "I", "a header, no more": iceHeader(0, 1000),
		"batch of 2^30": iceHeader(1, 18) + "\x00\x00\x00\x40", "bad compression": "IceP\x01\x00\x01\x00\x00\x02\x20\x00\x00\x00" + "\xff\xff\xff\x7f" + strings.Repeat("B", 14),
		"request of nonsense": iceHeader(0, 114) + strings.Repeat("\xff", 100),
	},
	"http": {
		"garbage": garbage, "zeros": strings.Repeat("\x00", 64), "an Ice client": request(), "a floe node": "\xf1FLOE\x02\x01\x00\r\n\r\n",
		"tls": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a header that stands still": "GET /v1/topics HTTP/1.1\r\nHost: x\r\n", "one byte": "G",
		"a long header": "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "bad chunks": "POST /v1/topics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"no JSON":   "POST /v1/topics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{{{",
		"long body": "POST /v1/topics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 8000000\r\n\r\n" + strings.Repeat("x", 8_000_000),
	},
}

func TestBadBytesOnEveryPort(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	at := map[string]string{"peer": b.n.Peer(), "ice": b.n.Ice(), "http": b.n.HTTP()}
	var all sync.WaitGroup
	problems := make(chan string, 100)
	for listener, cases := range badInput {
		for name, bytes := range cases {
			all.Go(func() {
				if err := closedSoon(at[listener], bytes); err != nil {
					problems <- fmt.Sprintf("%s port, %s: %v", listener, name, err)
				}
			})
		}
	}
	all.Wait()
	close(problems)
	for p := range problems {
		t.Error(p)
	}
	for _, listener := range []string{"peer", "ice"} {
		for name, bytes := range badInput[listener] {
			datagrams(t, at[listener], name, bytes)
		}
	}
	b.unharmed(t, 20*mb)
	quietly(t, b.n)
}

// closedSoon sends bytes and expects the connection's end within 5 s and some.
func closedSoon(address, bytes string) error {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		return err
	}
	begun := time.Now()
	_, _ = io.WriteString(conn, bytes) // it may be closed before all is written
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("still open after 15 s")
	}
	if took := time.Since(begun); took > 12*time.Second { // 5 s on a machine of its own
		return fmt.Errorf("closed only after %v", took)
	}
	return nil
}

// datagrams sends bytes as single datagrams, whole and in part.
func datagrams(t *testing.T, address, name, bytes string) {
	t.Helper()
	conn, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	bytes = bytes[:min(len(bytes), 8<<10)]
	for _, part := range []string{bytes, bytes[:len(bytes)/2], bytes[:1]} {
		for range 10 {
			if _, err := io.WriteString(conn, part); err != nil {
				t.Fatalf("datagram %s: %v", name, err)
			}
		}
	}
}

// quietly checks that the node counted bad input on each listener, named listener and peer, and wrote few lines.
func quietly(t *testing.T, n *floetest.Node) {
	t.Helper()
	code, metrics := floetest.Get(n.HTTP(), "/metrics")
	if code != 200 {
		t.Fatalf("/metrics: %d %s", code, metrics)
	}
	lines := map[string]int{}
	for line := range strings.Lines(n.Log()) {
		if strings.Contains(line, "bad input") && strings.Contains(line, "peer=127.") {
			_, rest, _ := strings.Cut(line, "listener=")
			listener, _, _ := strings.Cut(rest, " ")
			lines[listener]++
		}
	}
	for listener, count := range lines {
		if count > 4 { // one in 10 s
			t.Errorf("%d lines about %s", count, listener)
		}
	}
	if len(lines) < 3 {
		t.Errorf("lines about bad input on %v only:\n%s", lines, n.Tail())
	}
	for _, listener := range []string{"peer", "tcp", "http"} {
		if strings.Contains(metrics, fmt.Sprintf("floe_bad_input_total{listener=%q} 0\n", listener)) || !strings.Contains(metrics, fmt.Sprintf("floe_bad_input_total{listener=%q}", listener)) {
			t.Errorf("no bad input counted on %s", listener)
		}
	}
	if strings.Contains(n.Log(), "panic") || strings.Contains(n.Log(), "goroutine ") {
		t.Errorf("a panic: %s", n.Tail())
	}
}

// P07, shortened: connections that say nothing, on every listener.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	const each = 2000
	var conns []net.Conn
	for _, address := range []string{b.n.Peer(), b.n.Ice(), b.n.HTTP()} {
		for i := range each {
			c, err := net.DialTimeout("tcp", address, 10*time.Second)
			if err != nil {
				t.Fatalf("connection %d to %s: %v", i, address, err)
			}
			conns = append(conns, c)
		}
	}
	b.unharmed(t, 120*mb)
	fresh, err := ice.Dial(b.n.Ice(), 10*time.Second)
	if err != nil {
		t.Fatalf("a new client beside idle ones: %v", err)
	}
	defer fresh.Close()
	if err := fresh.Ping(10 * time.Second); err != nil {
		t.Fatalf("a new client beside idle ones: %v", err)
	}
	for _, c := range conns {
		_ = c.Close() // nothing was sent
	}
	fewDescriptors(t, b.n)
	b.unharmed(t, 120*mb)
}

// fewDescriptors waits until a node has let go of connections that ended.
func fewDescriptors(t *testing.T, n *floetest.Node) {
	t.Helper()
	floetest.Eventually(t, floetest.Patience, func() error {
		if now := descriptors(t, n); now > 100 {
			return fmt.Errorf("%d descriptors are open", now)
		}
		return nil
	})
}

// descriptors counts the open files of a node.
func descriptors(t *testing.T, n *floetest.Node) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// call makes a request with parameters of the test's own and returns the error.
func (b *bystander) call(id proto.Identity, operation string, parameters []byte) error {
	encaps, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	encaps = proto.EndEncapsulation(append(encaps, parameters...), start)
	_, err := b.conn.Call(ice.Request{Identity: id, Operation: operation, Mode: proto.ModeNormal, Encaps: encaps}, 10*time.Second)
	return err
}

// A forward whose count says 2^30 and more: the stock server takes 3.5 GB.
func TestForwardOfCountsThatLie(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	link := proto.Identity{Category: "IceStorm", Name: "T.link"}
	for _, count := range []uint32{1 << 30, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 20, 1 << 24} {
		for _, rest := range []string{"", garbage, strings.Repeat("\x00", 500_000)} {
			parameters := append(binary.LittleEndian.AppendUint32([]byte{255}, count), rest...)
			if err := b.call(link, "forward", parameters); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("forward of %d events in %d bytes: %v, want an exception as the answer", count, len(rest), err)
			}
		}
	}
	t.Logf("peak %.1f MB", float64(b.n.PeakRSS())/mb)
	b.unharmed(t, 25*mb)
	if peak := b.n.PeakRSS(); peak > b.rss+60*mb {
		t.Errorf("memory went up to %d", peak)
	}
}

// 10 000 proxies that are none, or name nobody.
func TestSillyProxies(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	topic, err := b.conn.TopicProxy("T", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	taken := 0
	for i := range 10_000 {
		parameters := append([]byte{0}, sillyProxy(r, i)...) // an empty QoS before
		err := b.call(topic.Identity, "subscribeAndGetPublisher", parameters)
		if err == nil {
			taken++
		} else if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("proxy %d: %v, want an exception as the answer", i, err)
		}
	}
	t.Logf("%d of 10 000 proxies were taken", taken)
	b.unharmed(t, 60*mb)
}

// sillyProxy is random bytes, a proxy with random bytes in it, or one that is cut.
func sillyProxy(r *rand.Rand, i int) []byte {
	noise := make([]byte, r.IntN(60))
	for j := range noise {
		noise[j] = byte(r.Uint32())
	}
	switch i % 4 {
	case 0:
		return noise
	case 1: // nobody, nowhere
		return nil
	case 2: // identity, then noise
		return append([]byte("\x01s\x00\x00\x00\x00\x01\x00\x01\x01"), noise...)
	}
	p := proto.NewProxy(proto.Identity{Name: strings.Repeat("x", r.IntN(300))})
	whole := proto.AppendProxy(nil, &p, proto.Encoding11)
	return whole[:r.IntN(len(whole))]
}
