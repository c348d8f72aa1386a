package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// counter is a state machine that counts entries.
type counter struct{ n atomic.Int64 }

func (c *counter) Apply(*raft.Log) any { return c.n.Add(1) }

func (c *counter) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }

func (c *counter) Restore(r io.ReadCloser) error { return r.Close() }

// raftNode is one member of a test's raft group.
type raftNode struct {
	port *Port
	raft *raft.Raft
	fsm  *counter
}

func startRaft(t *testing.T, id string, p *Port) *raftNode {
	t.Helper()
	n := &raftNode{port: p, fsm: &counter{}}
	transport := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: p.RaftLayer(), MaxPool: 3, Timeout: 2 * time.Second, Logger: hclog.NewNullLogger()})
	cfg := raft.DefaultConfig()
	cfg.LocalID = raft.ServerID(id)
	cfg.Logger = hclog.NewNullLogger()
	cfg.HeartbeatTimeout, cfg.ElectionTimeout = time.Second, time.Second
	cfg.LeaderLeaseTimeout, cfg.CommitTimeout = time.Second, 5*time.Millisecond
	store := raft.NewInmemStore()
	r, err := raft.NewRaft(cfg, n.fsm, store, store, raft.NewInmemSnapshotStore(), transport)
	if err != nil {
		t.Fatal(err)
	}
	n.raft = r
	t.Cleanup(func() {
		n.stop(t)
		if err := transport.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *raftNode) stop(t *testing.T) {
	t.Helper()
	if err := n.raft.Shutdown().Error(); err != nil {
		t.Error(err)
	}
}

// leader waits for the one leader among nodes.
func leader(t *testing.T, nodes []*raftNode) *raftNode {
	t.Helper()
	var found *raftNode
	eventually(t, "a leader", func() bool {
		for _, n := range nodes {
			if n.raft.State() == raft.Leader {
				found = n
			}
		}
		return found != nil
	})
	return found
}

// apply puts one entry through whichever node leads, which on a busy machine
// may change meanwhile.
func apply(t *testing.T, nodes []*raftNode) (by *raftNode) {
	t.Helper()
	eventually(t, "entry applied", func() bool {
		by = leader(t, nodes)
		return by.raft.Apply([]byte("x"), 5*time.Second).Error() == nil
	})
	return by
}

func TestRaftOverThePort(t *testing.T) {
	var nodes []*raftNode
	var members raft.Configuration
	for i := range 3 {
		id := fmt.Sprint("n", i)
		n := startRaft(t, id, listen(t, Config{}))
		nodes = append(nodes, n)
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(n.port.Advertised())})
	}
	if err := nodes[0].raft.BootstrapCluster(members).Error(); err != nil {
		t.Fatal(err)
	}
	var first *raftNode
	for range 100 {
		first = apply(t, nodes)
	}
	first.stop(t)
	shutdown(t, first.port) // its connections end, as with the process

	var rest []*raftNode
	for _, n := range nodes {
		if n != first {
			rest = append(rest, n)
		}
	}
	apply(t, rest)
	eventually(t, "both have all entries", func() bool {
		n := rest[0].fsm.n.Load()
		return n >= 101 && n == rest[1].fsm.n.Load()
	})
}

// Raft's own reads have no deadline: somebody who sends half a request must not keep the connection.
func TestRaftRequestMustNotStandStill(t *testing.T) {
	p := listen(t, Config{Options: Options{StallTimeout: 20 * time.Millisecond}})
	nc := dialRaw(t, p)
	if _, err := nc.Write(hello(kindRaft)); err != nil {
		t.Fatal(err)
	}
	c, err := p.RaftLayer().Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := seal(nc, time.Minute).Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read of a request that stands still: %v, want a deadline's error", err)
	}
}

func TestRaftLayerClose(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	layer := server.RaftLayer()
	if got, want := layer.Addr().String(), server.Advertised(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for range 2 {
		if err := layer.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := layer.Accept(); err == nil {
		t.Error("accept after close: no error")
	}
	nc, err := caller.RaftLayer().Dial(raft.ServerAddress(server.Advertised()), time.Second)
	if err == nil || nc != nil {
		t.Errorf("dial of a closed layer: got %v, %v", nc, err)
	}
	server.Serve(echo)
	if _, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil); err != nil {
		t.Errorf("the rest of the port: %v", err)
	}
}
