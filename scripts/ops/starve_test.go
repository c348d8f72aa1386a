package ops

import (
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
	"floe/transport/http/api"
)

// S8: the leader runs out of file descriptors. Who is connected goes on, so does the group, the log says why, and it works
// as before once there are some, without a restart.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	poor := c.WaitLeader()
	rest := c.Followers()
	poor.Must("create", "T")
	client, err := ice.Dial(poor.Ice(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	load := startCreating(t, rest, "load")
	load.wait(t, 10)

	var limit unix.Rlimit
	err = unix.Prlimit(poor.PID(), unix.RLIMIT_NOFILE, nil, &limit)
	if err == nil {
		limit.Cur = uint64(descriptors(t, poor) + 24) // enough for what it needs beside those held below
		err = unix.Prlimit(poor.PID(), unix.RLIMIT_NOFILE, &limit, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	for _, address := range []string{poor.Peer(), poor.Ice(), poor.HTTP()} {
		for range 40 {
			conn, err := net.DialTimeout("tcp", address, 5*time.Second)
			if err != nil {
				t.Fatal(err) // the system takes it, whether floe does or not
			}
			held = append(held, conn)
		}
	}
	poor.WaitLog("too many open files")
	for range 3 {
		load.wait(t, 10)
		proxy, err := client.TopicProxy("T", 10*time.Second)
		if err == nil {
			_, err = client.Publisher(proxy.Identity, 10*time.Second)
		}
		if err != nil {
			t.Fatalf("a client from before: %v", err)
		}
		rest[0].Must("transfer") // elections, in which it may have to vote
	}
	for _, conn := range held {
		_ = conn.Close() // nothing was sent
	}
	poor.WaitStatus("well", func(s api.Status) bool { return s.Leader != "" && len(s.Problems) == 0 })
	_, metrics := floetest.Get(poor.HTTP(), "/metrics")
	for _, want := range []string{"floe_store_failed 0", "floe_ready 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics do not say %s", want)
		}
	}
	if strings.Contains(metrics, "floe_peer_accept_errors_total 0") {
		t.Error("no error of the peer port was counted")
	}
	poor.Must("create", "after")
	made := load.stop()
	t.Logf("%d creates, the longest gap %v", len(made.acked), made.gap)
	missing(t, poor, made.acked)
	c.WaitSame()
}

// S8: the leader gets a twentieth of a processor, and later a follower. The others go on, and both work as before once they
// have their share again.
func TestStarvedOfProcessor(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	load := startCreating(t, c.Nodes, "load")
	load.wait(t, 10)
	for _, poor := range []*floetest.Node{c.WaitLeader(), c.Followers()[0]} {
		others := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *floetest.Node) bool { return n == poor })
		group, ok := newGroup(t, "cpu")
		if !ok {
			return
		}
		group.limitProcessor(t, 5)
		group.add(t, poor)
		rest := startCreating(t, others, "beside-"+poor.ID+"-")
		rest.wait(t, 50)
		made := rest.stop()
		t.Logf("beside %s: %d creates, the longest gap %v", poor.ID, len(made.acked), made.gap)
		if len(made.unknown) > 10 {
			t.Errorf("%d creates of unknown outcome", len(made.unknown))
		}
		group.limitProcessor(t, 100)
		poor.WaitStatus("well", func(s api.Status) bool { return s.Leader != "" && len(s.Problems) == 0 })
		load.wait(t, 10)
		missing(t, poor, made.acked)
	}
	missing(t, c.Nodes[0], load.stop().acked)
	c.WaitSame()
}

// S8: subscribers that take nothing, more of them than their queues have memory for, under a limit of the system. Their own
// events are dropped; the node stays inside, serves others, and gives the memory back.
func TestLimitOfMemory(t *testing.T) {
	t.Parallel()
	group, ok := newGroup(t, "memory")
	if !ok {
		return
	}
	const queues = 24 // of 2 MiB each
	b := newBystander(t, "--queue-bytes", "2MiB")
	limit := b.rss + 64*mb
	group.limitMemory(t, limit)
	group.add(t, b.n)
	var streams []net.Conn
	for range queues {
		conn, err := net.Dial("tcp", b.n.HTTP())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET /v1/events?topic=T HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		streams = append(streams, conn)
	}
	event := `{"topic":"T","data":"` + strings.Repeat("eHh4", 128<<10) + `"}` // 384 KiB in base64
	dropped := regexp.MustCompile(`floe_events_dropped_total\{face="native",reason="queue_full"\} [1-9]`)
	floetest.Eventually(t, floetest.Patience, func() error {
		answer, err := http.Post("http://"+b.n.HTTP()+"/v1/events", "application/json", strings.NewReader(event))
		if err != nil {
			return err
		}
		answer.Body.Close()
		b.publish(t)
		if _, text := floetest.Get(b.n.HTTP(), "/metrics"); !dropped.MatchString(text) {
			return errors.New("nothing was dropped yet")
		}
		return nil
	})
	t.Logf("peak %.1f MB of %.1f MB", float64(b.n.PeakRSS())/mb, float64(limit)/mb)
	for _, conn := range streams {
		_ = conn.Close() // it was never read
	}
	b.unharmed(t, 100*mb)
}
