package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/cluster"
	"floe/transport/wire"
)

// realNode is a node on a real peer port.
type realNode struct {
	*cluster.Node
	port *wire.Port
	stop context.CancelFunc
	done chan error
}

func startReal(t testing.TB, change func(*cluster.Config)) *realNode {
	t.Helper()
	port, err := wire.Listen(wire.Config{Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := cluster.Config{DataDir: t.TempDir(), GossipKey: []byte("0123456789abcdef")}
	change(&cfg)
	cfg.Network = cluster.Network{
		Raft: port.RaftLayer(), Gossip: port.GossipTransport(), Caller: port.Client(), Server: port, Address: port.Advertised(),
	}
	n, err := cluster.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &realNode{Node: n, port: port, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- n.Run(ctx) }()
	return r
}

func (r *realNode) close(t testing.TB) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("run: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.port.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// waitReal waits in real time.
func waitReal(t testing.TB, what string, condition func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// TestOverWire runs three nodes over loopback, kills the leader's process
// from their point of view, and starts all again at other ports.
func TestOverWire(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	start := func(i int, join ...string) *realNode {
		return startReal(t, func(c *cluster.Config) {
			c.DataDir, c.ID, c.Join, c.Timing = dirs[i], fmt.Sprintf("r%d", i), join, cluster.Fast
		})
	}
	var nodes []*realNode
	startAll := func() {
		nodes = []*realNode{start(0)}
		for i := 1; i < 3; i++ {
			nodes = append(nodes, start(i, nodes[0].port.Advertised()))
		}
	}
	ready := func() error {
		for _, n := range nodes {
			if err := n.Ready(); err != nil {
				return fmt.Errorf("%s: %w", n.ID(), err)
			}
			if got := n.View().Voters(); got != 3 {
				return fmt.Errorf("%s sees %d voters", n.ID(), got)
			}
		}
		return nil
	}
	startAll()
	waitReal(t, "ready", ready)
	for i, n := range nodes {
		if _, err := n.Propose(t.Context(), create(fmt.Sprint(i)), "test"); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		n.close(t)
	}
	startAll()
	waitReal(t, "ready again", ready)
	want := nodes[0].View().Digest()
	for _, n := range nodes {
		v, err := n.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, v.Digest()); diff != "" || v.Graph.Len() != 3 {
			t.Errorf("%s: %d topics, digest differs: %s", n.ID(), v.Graph.Len(), diff)
		}
		_, err = n.Call(t.Context(), nodes[0].ID(), "nothing", nil)
		if !errors.Is(err, &cluster.Refused{Code: cluster.CodeUnknownMethod}) {
			t.Errorf("call over wire: %v", err)
		}
	}
	for _, n := range nodes {
		n.close(t)
	}
}

func BenchmarkPropose(b *testing.B) {
	for _, parallel := range []int{1, 64} {
		b.Run(fmt.Sprintf("in-flight-%d", parallel), func(b *testing.B) { benchmarkPropose(b, parallel) })
	}
}

func benchmarkPropose(b *testing.B, parallel int) {
	port, err := wire.Listen(wire.Config{Bind: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	n, err := cluster.Open(cluster.Config{DataDir: b.TempDir(), Network: cluster.Network{
		Raft: port.RaftLayer(), Gossip: port.GossipTransport(), Caller: port.Client(), Server: port, Address: port.Advertised(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for n.Ready() != nil {
		<-n.Changed()
	}
	work := make(chan int)
	errs := make(chan error, parallel)
	for range parallel {
		go func() {
			var all error
			for i := range work {
				_, err := n.Propose(ctx, create(fmt.Sprint(i)), "bench")
				all = errors.Join(all, err)
			}
			errs <- all
		}()
	}
	i := 0
	for b.Loop() {
		work <- i
		i++
	}
	close(work)
	for range parallel {
		if err := <-errs; err != nil {
			b.Error(err)
		}
	}
	cancel()
	<-done
	port.Shutdown(context.Background())
}
