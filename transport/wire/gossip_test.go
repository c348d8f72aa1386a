package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/memberlist"
)

// pushPulls counts the states a node was sent over a stream.
type pushPulls struct{ n atomic.Int64 }

func (p *pushPulls) NodeMeta(int) []byte             { return nil }
func (p *pushPulls) NotifyMsg([]byte)                {}
func (p *pushPulls) GetBroadcasts(int, int) [][]byte { return nil }
func (p *pushPulls) LocalState(bool) []byte          { return bytes.Repeat([]byte("s"), 100_000) }
func (p *pushPulls) MergeRemoteState(b []byte, _ bool) {
	if len(b) == 100_000 {
		p.n.Add(1)
	}
}

func startGossip(t *testing.T, name string, p *Port) (*memberlist.Memberlist, *pushPulls) {
	t.Helper()
	states := &pushPulls{}
	cfg := memberlist.DefaultLocalConfig()
	cfg.Name, cfg.Transport, cfg.Delegate = name, p.GossipTransport(), states
	cfg.Logger = hclog.NewNullLogger().StandardLogger(nil)
	cfg.ProbeInterval, cfg.ProbeTimeout, cfg.GossipInterval = 100*time.Millisecond, 50*time.Millisecond, 20*time.Millisecond
	cfg.EnableCompression = false // as floe's
	cfg.SuspicionMult, cfg.PushPullInterval = 1, 200*time.Millisecond
	m, err := memberlist.Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return m, states
}

func TestMemberlistOverThePort(t *testing.T) {
	var lists []*memberlist.Memberlist
	var states []*pushPulls
	var ports []*Port
	for i := range 3 {
		ports = append(ports, listen(t, Config{}))
		m, s := startGossip(t, fmt.Sprint("n", i), ports[i])
		lists, states = append(lists, m), append(states, s)
	}
	for _, m := range lists[1:] {
		if _, err := m.Join([]string{ports[0].Advertised()}); err != nil {
			t.Fatal(err)
		}
	}
	all := func(n int, of ...*memberlist.Memberlist) func() bool {
		return func() bool {
			for _, m := range of {
				if m.NumMembers() != n {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "all know all", all(3, lists...))
	eventually(t, "states pushed and pulled", func() bool {
		return states[0].n.Load() > 2 && states[1].n.Load() > 1 && states[2].n.Load() > 1
	})
	shutdown(t, ports[2]) // without a goodbye, as a killed process
	eventually(t, "the dead one is gone", all(2, lists[:2]...))
}

func TestGossipShutdownLeavesTheRest(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.Serve(echo)
	for range 2 {
		if err := server.GossipTransport().Shutdown(); err != nil {
			t.Error(err)
		}
	}
	if _, err := caller.GossipTransport().DialTimeout(server.Advertised(), time.Second); err == nil {
		t.Error("gossip stream after shutdown: no error")
	}
	if _, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil); err != nil {
		t.Errorf("the rest of the port: %v", err)
	}
}

func TestPacketsOverTheQueueAreDroppedAndCounted(t *testing.T) {
	var out syncBuffer
	p := listen(t, Config{Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
	for range packetQueue + 10 {
		p.gossip.deliver(&memberlist.Packet{})
	}
	if got := p.Stats().DroppedPackets; got != 10 {
		t.Errorf("got %d, want 10", got)
	}
	if got := strings.Count(out.String(), "gossip packets are dropped"); got != 1 {
		t.Errorf("%d lines tell of them, want 1", got)
	}
}

func TestPacketsArriveWhole(t *testing.T) {
	a, b := listen(t, Config{}), listen(t, Config{})
	for _, n := range []int{1, 1400, 60_000} {
		want := bytes.Repeat([]byte{byte(n)}, n)
		if _, err := a.GossipTransport().WriteTo(want, b.Advertised()); err != nil {
			t.Fatal(err)
		}
		got := <-b.GossipTransport().PacketCh()
		if !bytes.Equal(got.Buf, want) || got.From.(*net.UDPAddr).AddrPort() != a.Addr() {
			t.Errorf("got %d bytes from %s, want %d from %s", len(got.Buf), got.From, n, a.Addr())
		}
	}
}

// A stream that announces a million nodes or 20 MiB is closed before
// memberlist makes room for them.
func TestGossipThatAnnouncesTooMuchIsClosed(t *testing.T) {
	label := append([]byte{gossipLabelled, 2}, "me"...)
	tests := map[string]struct {
		bytes []byte
		ok    bool
	}{
		"small":           {[]byte("\x06\x83\xa5Nodes\x03\xacUserStateLen\x00\xa4Join\xc3"), true},
		"small, labelled": {append(label, "\x06\x83\xa5Nodes\x03\xacUserStateLen\x00\xa4Join\xc3"...), true},
		"encrypted":       {[]byte{gossipEncrypted, 0xff, 0xff, 0xff, 0xff}, true},
		"ping":            {[]byte{gossipPing}, true},
		"a million nodes": {append(label, "\x06\x83\xa5Nodes\xce\x00\x0f\xff\xff\xacUserStateLen\x00\xa4Join\xc3"...), false},
		"nodes below 0":   {[]byte("\x06\x83\xa5Nodes\xff\xacUserStateLen\x00\xa4Join\xc3"), false},
		"20 MB of state":  {[]byte("\x06\x83\xa5Nodes\x00\xacUserStateLen\xce\x01\x30\x00\x00\xa4Join\xc3"), false},
		"compressed":      {[]byte{9, 0x82}, false},
		"user message":    {[]byte{8, 0x81}, false},
		"no map":          {[]byte{gossipPushPull, 0xc1}, false},
		"a name of 4 GB":  {append([]byte("\x06\x83\xdb\xff\xff\xff\xff"), make([]byte, 500)...), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			var complaint error
			c := &gossipConn{conn: &conn{Conn: near, release: func() {}}, complain: func(err error) { complaint = err }}
			go func() {
				far.Write(test.bytes) // cut short where it is refused
				far.Close()
			}()
			got, err := io.ReadAll(c)
			c.Close()
			if ok := err == nil && complaint == nil && bytes.Equal(got, test.bytes); ok != test.ok {
				t.Errorf("read %q, error %v, complaint %v", got, err, complaint)
			}
		})
	}
}
