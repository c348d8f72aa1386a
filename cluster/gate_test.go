package cluster

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/cluster/logstore/faulty"
	"floe/fsm"
)

// gates are two transports with gates on real sockets; the second answers all
// that is let through.
func gates(t *testing.T) (near, far *gate, rules *struct{ vote, room error }, acked map[string]uint64) {
	t.Helper()
	rules, acked = &struct{ vote, room error }{}, map[string]uint64{}
	open := func() *gate {
		inner, err := raft.NewTCPTransport("127.0.0.1:0", nil, 2, 10*time.Second, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		g := (&gate{
			mayVote: func() error { return rules.vote },
			hasRoom: func(int) error { return rules.room },
			acked:   func(id string, index uint64) { acked[id] = max(acked[id], index) },
			leadsTo: func(string, uint64) bool { return false },
			heard:   func(uint64) {},
		}).open(inner)
		t.Cleanup(func() { g.Close() })
		return g
	}
	near, far = open(), open()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case rpc := <-far.Consumer():
				if rpc.Reader != nil {
					_, _ = io.Copy(io.Discard, rpc.Reader)
				}
				rpc.Respond(yes(rpc.Command), nil)
			case <-far.closed:
				return
			}
		}
	}()
	far.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil) })
	t.Cleanup(func() { far.Close(); <-done })
	return near, far, rules, acked
}

func yes(command any) any {
	switch command.(type) {
	case *raft.RequestVoteRequest:
		return &raft.RequestVoteResponse{Granted: true}
	case *raft.RequestPreVoteRequest:
		return &raft.RequestPreVoteResponse{Granted: true}
	case *raft.InstallSnapshotRequest:
		return &raft.InstallSnapshotResponse{Success: true}
	case *raft.TimeoutNowRequest:
		return &raft.TimeoutNowResponse{}
	}
	return &raft.AppendEntriesResponse{Success: true}
}

// asks are all requests of Raft, from one gate to another.
func asks(from, to *gate) map[string]func() error {
	at := to.LocalAddr()
	append := func(r raft.AppendEntriesRequest) error {
		r.Term, r.Addr = 1, []byte("x")
		return from.AppendEntries("far", at, &r, new(raft.AppendEntriesResponse))
	}
	return map[string]func() error{
		"vote": func() error {
			return from.RequestVote("far", at, new(raft.RequestVoteRequest), new(raft.RequestVoteResponse))
		},
		"prevote": func() error {
			return from.RequestPreVote("far", at, new(raft.RequestPreVoteRequest), new(raft.RequestPreVoteResponse))
		},
		"timeout": func() error {
			return from.TimeoutNow("far", at, new(raft.TimeoutNowRequest), new(raft.TimeoutNowResponse))
		},
		"heartbeat": func() error { return append(raft.AppendEntriesRequest{}) },
		"commit":    func() error { return append(raft.AppendEntriesRequest{PrevLogEntry: 7, LeaderCommitIndex: 7}) },
		"entries": func() error {
			return append(raft.AppendEntriesRequest{PrevLogEntry: 7, LeaderCommitIndex: 8, Entries: []*raft.Log{{Index: 8}, {Index: 9}}})
		},
		"snapshot": func() error {
			b := make([]byte, 100_000)
			return from.InstallSnapshot("far", at, &raft.InstallSnapshotRequest{Size: int64(len(b))}, new(raft.InstallSnapshotResponse), bytes.NewReader(b))
		},
	}
}

// TestGate: what is let through in which state, on either side.
func TestGate(t *testing.T) {
	near, far, rules, acked := gates(t)
	check := func(state string, refused ...string) {
		t.Helper()
		for name, ask := range asks(near, far) {
			want := strings.Contains(strings.Join(refused, " ")+" ", name+" ")
			if err := ask(); (err != nil) != want {
				t.Errorf("%s: %s: got %v, want refused: %v", state, name, err, want)
			}
		}
	}
	check("open")
	if acked["far"] != 8 {
		t.Errorf("acknowledged up to %d, want 8: what is committed and there", acked["far"])
	}
	rules.vote = errors.New("not yet")
	check("not vouched for", "vote", "prevote", "timeout")
	rules.vote, rules.room = nil, errors.New("no space")
	check("full", "entries", "snapshot")
	for _, name := range []string{"entries", "snapshot"} {
		_ = asks(near, far)[name]()
		if got := near.withoutRoom("far"); got != "no space" {
			t.Errorf("%s: a follower without room says %q", name, got)
		}
		_ = asks(near, far)["heartbeat"]()
		if near.withoutRoom("far") == "" {
			t.Error("a heartbeat counts as room")
		}
		rules.room = nil
		_ = asks(near, far)[name]()
		if near.withoutRoom("far") != "" {
			t.Errorf("%s: room is not noticed", name)
		}
		rules.room = errors.New("no space")
	}
	rules.room = nil
	all := []string{"vote", "prevote", "timeout", "heartbeat", "commit", "entries", "snapshot"}
	near.silent.Store(true)
	check("this one silent", all...)
	near.silent.Store(false)
	far.silent.Store(true)
	check("the other silent", all...)
	far.silent.Store(false)
	check("open again")
}

// TestTestimony: who is older, and who is not.
func TestTestimony(t *testing.T) {
	for name, test := range map[string]struct {
		seen  *logstore.Sight
		state logstore.Phase
		older bool
	}{
		"nothing seen":        {nil, logstore.Member, false},
		"as it is":            {&logstore.Sight{Incarnation: 5, Index: 100, VoteTerm: 3}, logstore.Member, false},
		"less":                {&logstore.Sight{Incarnation: 5, Index: 99, VoteTerm: 2}, logstore.Member, false},
		"more entries":        {&logstore.Sight{Incarnation: 5, Index: 101, VoteTerm: 3}, logstore.Member, true},
		"a later vote":        {&logstore.Sight{Incarnation: 5, Index: 100, VoteTerm: 4}, logstore.Member, true},
		"while it joins":      {&logstore.Sight{Incarnation: 5, Index: 101}, logstore.Joining, true},
		"of its former life":  {&logstore.Sight{Incarnation: 4, Index: 900, VoteTerm: 9}, logstore.Member, false},
		"of a node that left": {&logstore.Sight{Incarnation: 5, Index: 900}, logstore.Left, false},
	} {
		store, err := logstore.Open(t.TempDir(), logstore.Config{Backend: faulty.NewMem().Open})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.StoreLog(&raft.Log{Index: 100, Term: 1}); err != nil {
			t.Fatal(err)
		}
		n := &Node{id: "n1", disk: &disk{store: store, snaps: new(logstore.Snapshots)}, state: fsm.New(fsm.Config{}), witness: &witness{nodes: map[string]logstore.Sight{}}, fatal: make(chan error, 1)}
		n.identity.Store(&logstore.Identity{NodeID: "n1", ClusterID: "c", State: test.state, Incarnation: "5", VoteTerm: 3})
		n.testify(nodeInfo{ID: "n2", Cluster: "c", Seen: test.seen})
		if got := len(n.fatal) == 1; got != test.older {
			t.Errorf("%s: refused: %v, want %v", name, got, test.older)
		}
	}
}

// TestWitnessOnlyGrows within one life of a node.
func TestWitnessOnlyGrows(t *testing.T) {
	w := &witness{nodes: map[string]logstore.Sight{}}
	w.acked("n", 5) // of a node that was never heard
	for _, step := range []struct{ note, want logstore.Sight }{
		{logstore.Sight{Incarnation: 1, Index: 10, VoteTerm: 2}, logstore.Sight{Incarnation: 1, Index: 10, VoteTerm: 2}},
		{logstore.Sight{Incarnation: 1, Index: 8, VoteTerm: 3}, logstore.Sight{Incarnation: 1, Index: 10, VoteTerm: 3}},
		{logstore.Sight{Incarnation: 2}, logstore.Sight{Incarnation: 2}},
		{logstore.Sight{Incarnation: 1, Index: 99}, logstore.Sight{Incarnation: 2}},
	} {
		w.note("n", step.note)
		if got, _ := w.of("n"); got != step.want {
			t.Errorf("after %+v: got %+v, want %+v", step.note, got, step.want)
		}
	}
	w.acked("n", 7)
	w.acked("n", 6)
	if got, _ := w.of("n"); got.Index != 7 {
		t.Errorf("acknowledged up to %d, want 7", got.Index)
	}
}
