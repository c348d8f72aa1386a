package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

func TestSealRoundTrip(t *testing.T) {
	for _, body := range []string{"", "x", "a body"} {
		node, cluster, got, err := unseal(seal("n1", "c1", []byte(body)))
		if err != nil || node != "n1" || cluster != "c1" || string(got) != body {
			t.Errorf("got %q, %q, %q, %v", node, cluster, got, err)
		}
	}
	for _, bad := range []string{"", "\x01", "\x02\x02n1\x00", "\x01\x02n", "\x01\x00\x00", "\x01\x02n1\x05c", "\x01\x02a/\x00"} {
		if _, _, _, err := unseal([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzUnseal(f *testing.F) {
	f.Add(seal("n1", "", nil))
	f.Add(seal("n1", "8d0c1e9e-4a55-4c11-9d2b-0a6f6b0c5a11", []byte("{}")))
	f.Fuzz(func(t *testing.T, b []byte) {
		node, cluster, body, err := unseal(b)
		if err == nil && !bytes.Equal(seal(node, cluster, body), b) {
			t.Errorf("%q reads as %q %q %q", b, node, cluster, body)
		}
	})
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(`{"c":"x","i":1,"a":"10.0.0.1:7400","s":1,"t":"member"}`))
	f.Add([]byte(`{"a":"nowhere"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseMeta(b); err == nil && CheckAddress(m.Address) != nil {
			t.Errorf("%q has the address %q", b, m.Address)
		}
	})
}

func TestAddressBook(t *testing.T) {
	b := newAddressBook("self")
	check := func(what, want string) {
		t.Helper()
		if got, _ := b.pick("n"); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	check("unknown", "")
	b.told(map[string]string{"n": "h:1", "self": "h:9"})
	check("hearsay", "h:1")
	b.setReplicated(map[string]string{"n": "h:2"})
	check("the state over hearsay", "h:2")
	b.heard("n", "h:3")
	check("itself over the state", "h:3")
	b.failed("h:3")
	check("passed over after a failure", "h:2")
	b.failed("h:2")
	b.failed("h:1")
	check("all failed: the one that failed first", "h:3")
	b.worked("h:2")
	check("works again", "h:2")
	if _, ok := b.pick("self"); ok {
		t.Error("the book has an address of its owner")
	}
}

func TestNoQuorumText(t *testing.T) {
	for want, e := range map[string]NoQuorum{
		"no quorum: 1 of 3 voters reachable, 2 needed; start 1 more, or see floe recover if they are lost for good":                    {Voters: 3, Reachable: 1},
		"no quorum: 2 of 5 voters reachable, 3 needed, last leader n1; start 1 more, or see floe recover if they are lost for good; x": {Voters: 5, Reachable: 2, LastLeader: "n1", Reason: "x"},
		"no quorum: 2 of 3 voters reachable, 2 needed, last leader n1":                                                                 {Voters: 3, Reachable: 2, LastLeader: "n1"},
		"no quorum: left": {Reason: "left"},
	} {
		if diff := cmp.Diff(e.Error(), want); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTimingBounds(t *testing.T) {
	for _, timing := range []Timing{LAN, Fast, WAN} {
		bound := timing.noLeaderAfter() + timing.askTime()
		if want := min(2*timing.Election+time.Second, 4750*time.Millisecond); bound != want {
			t.Errorf("%v: got %v, want %v", timing, bound, want)
		}
	}
	if _, err := ParseTiming("slow"); err == nil {
		t.Error("timing slow was read")
	}
}

// TestIncarnationsGrow: later log positions give larger numbers.
func TestIncarnationsGrow(t *testing.T) {
	last := uint64(0)
	for index := range uint64(100) {
		now := newIncarnation(index)
		if now <= last {
			t.Fatalf("incarnation %d at index %d after %d", now, index, last)
		}
		last = now
	}
}

// entry is a log entry that carries a command.
func entry(t *testing.T, index uint64, op fsm.Op) *raft.Log {
	t.Helper()
	data, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: data}
}

// TestReplayedEntriesComeAgain: what Open replayed is left out when Raft
// brings it, and no snapshot is taken meanwhile.
func TestReplayedEntriesComeAgain(t *testing.T) {
	state := fsm.New(fsm.Config{})
	old := []*raft.Log{entry(t, 1, fsm.CreateTopic{Name: "a"}), entry(t, 2, fsm.CreateTopic{Name: "b"})}
	state.ApplyBatch(old)
	r := newReplica(state, new(marks), 0)
	if _, err := r.Snapshot(); err == nil {
		t.Error("a snapshot before the entries came again")
	}
	before := state.View()
	for _, l := range old {
		if got := r.Apply(l); got != nil {
			t.Errorf("entry %d again: got %v, want nothing", l.Index, got)
		}
	}
	if state.View() != before {
		t.Error("the view changed")
	}
	if _, err := r.Snapshot(); err != nil {
		t.Error(err)
	}
	answers := r.ApplyBatch([]*raft.Log{old[1], entry(t, 3, fsm.CreateTopic{Name: "c"})})
	if got, ok := answers[1].(fsm.Result); answers[0] != nil || !ok || got.Index != 3 {
		t.Errorf("an old and a new entry: %v", answers)
	}
}

func TestGossipOfOthersIsRefused(t *testing.T) {
	state := fsm.New(fsm.Config{})
	state.ApplyBatch([]*raft.Log{entry(t, 1, fsm.SetMember{Member: fsm.Member{ID: "n", Incarnation: 5}})})
	n := &Node{id: "self", state: state, book: newAddressBook("self")}
	n.identity.Store(&logstore.Identity{ClusterID: "c"})
	g := &gossip{n: n}
	for _, test := range []struct {
		name string
		meta meta
		ok   bool
	}{
		{"ours", meta{Cluster: "c", Incarnation: 5, Address: "h:1"}, true},
		{"newer", meta{Cluster: "c", Incarnation: 6, Address: "h:1"}, true},
		{"other cluster", meta{Cluster: "d", Incarnation: 5, Address: "h:1"}, false},
		{"removed incarnation", meta{Cluster: "c", Incarnation: 4, Address: "h:1"}, false},
		{"no address", meta{Cluster: "c", Incarnation: 5}, false},
	} {
		b, err := json.Marshal(test.meta)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.NotifyAlive(&memberlist.Node{Name: "n", Meta: b}); (err == nil) != test.ok {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
	if err := g.NotifyAlive(&memberlist.Node{Name: "n", Meta: []byte("garbage")}); err == nil {
		t.Error("garbage was taken")
	}
}

// TestPromisesAreExclusive: who promised to one promises to no other, and
// founds nothing itself.
func TestPromisesAreExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{id: "n5", cfg: Config{BootstrapExpect: 3}}
		n.identity.Store(&logstore.Identity{State: logstore.New})
		ask := func(id, nonce string) bool {
			r, err := n.givePromise(t.Context(), id, promiseRequest{ID: id, Nonce: nonce})
			if err != nil {
				t.Error(err)
			}
			return r.Given
		}
		if ask("n7", "7") {
			t.Error("promised to a larger id")
		}
		for range 2 {
			if !ask("n2", "2") {
				t.Error("no promise, or none again for the same")
			}
		}
		if ask("n1", "1") || n.seek(true) {
			t.Error("promised twice")
		}
		time.Sleep(promiseFor + time.Second) // of virtual time
		if !n.seek(true) || ask("n1", "1") {
			t.Error("a promise held for ever, or was given while seeking")
		}
		n.seek(false)
		n.identity.Store(&logstore.Identity{State: logstore.Member})
		if ask("n1", "1") {
			t.Error("a member promised")
		}
	})
}

func TestRaftLogLeavesOutRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newRaftLog(hclog.New(&hclog.LoggerOptions{Output: &out}))
		for range 100 {
			l.Error("failed to heartbeat to", "peer", "n1")
			l.Error("failed to heartbeat to", "peer", "n2")
		}
		time.Sleep(sameLine) // of virtual time
		l.Error("failed to heartbeat to", "peer", "n1")
		if got := strings.Count(out.String(), "[WARN]"); got != 3 || !strings.Contains(out.String(), "repeated=99") {
			t.Errorf("got %d lines:\n%s", got, out.String())
		}
	})
}

// TestRaftLogIsQuietAboutAStop: what Raft says when its connections are
// closed under it is no news.
func TestRaftLogIsQuietAboutAStop(t *testing.T) {
	var out bytes.Buffer
	l := newRaftLog(hclog.New(&hclog.LoggerOptions{Output: &out}))
	l.Error("failed to accept connection", "error", &net.OpError{Op: "accept", Err: net.ErrClosed})
	l.Warn("failed to decode incoming command", "error", errors.New("read tcp: use of closed network connection"))
	l.Warn("skipping application of old log", "index", 0)
	if out.Len() > 0 {
		t.Errorf("got %s", out.String())
	}
	l.Error("failed to decode incoming command", "error", io.ErrUnexpectedEOF)
	if !strings.Contains(out.String(), "unexpected EOF") {
		t.Errorf("another error: got %q", out.String())
	}
}

// TestIdentityWaitsForNoDisk: who the node is can be told while a change of
// it is being written.
func TestIdentityWaitsForNoDisk(t *testing.T) {
	n := &Node{id: "n1", cfg: Config{DataDir: t.TempDir()}}
	n.identity.Store(&logstore.Identity{NodeID: "n1", Incarnation: "1", State: logstore.New})
	err := n.updateIdentity(func(id *logstore.Identity) {
		id.State = logstore.Left
		if got := n.Identity().State; got != logstore.New {
			t.Errorf("during the change: got %s, want %s", got, logstore.New)
		}
		n.listProblems()
	})
	if err != nil || n.Identity().State != logstore.Left {
		t.Errorf("got %v, %v", n.Identity(), err)
	}
}

// TestFuturesEndWithTheHalf: a future that raft forgot does not hold up a
// stop. It fails where a new version of raft needs bind to change.
func TestFuturesEndWithTheHalf(t *testing.T) {
	h := &half{gone: make(chan struct{})}
	r, transport := idleRaft(t)
	defer transport.Close()
	for name, request := range map[string]func() raft.Future{
		"verify":   r.VerifyLeader,
		"transfer": func() raft.Future { return r.LeadershipTransfer() },
		"apply":    func() raft.Future { return r.Apply(nil, 0) },
	} {
		f := request()
		if err := f.Error(); !errors.Is(err, raft.ErrNotLeader) {
			t.Errorf("%s: %v", name, err)
		}
		f = request()
		h.bind(f)
		v := reflect.Indirect(reflect.ValueOf(f)).FieldByName("ShutdownCh")
		if !v.IsValid() || v.IsNil() {
			t.Errorf("%s: not bound", name)
		}
	}
	if err := r.Shutdown().Error(); err != nil {
		t.Error(err)
	}
}

// idleRaft is a raft that has no configuration and does nothing.
func idleRaft(t *testing.T) (*raft.Raft, *raft.InmemTransport) {
	t.Helper()
	c := raft.DefaultConfig()
	c.LocalID, c.Logger, c.BatchApplyCh = "idle", hclog.NewNullLogger(), true
	_, transport := raft.NewInmemTransport("idle")
	store := raft.NewInmemStore()
	r, err := raft.NewRaft(c, fsm.New(fsm.Config{}), store, store, raft.NewInmemSnapshotStore(), transport)
	if err != nil {
		t.Fatal(err)
	}
	return r, transport
}

// stingy is a Caller whose nodes promise nothing, apart from some.
type stingy map[string]bool

func (s stingy) Call(_ context.Context, address, _ string, _ []byte) ([]byte, error) {
	return json.Marshal(promiseReply{Given: s[address]})
}

func TestFoundingNeedsAllPromises(t *testing.T) {
	for _, test := range []struct {
		given stingy
		want  bool
	}{
		{stingy{}, false},
		{stingy{"h:2": true}, false},
		{stingy{"h:2": true, "h:3": true}, true},
	} {
		n := &Node{id: "n1", cfg: Config{Network: Network{Caller: test.given}}}
		n.identity.Store(&logstore.Identity{State: logstore.New})
		others := map[string]nodeInfo{"n2": {Address: "h:2"}, "n3": {Address: "h:3"}}
		if got := n.collect(t.Context(), others, 2); got != test.want {
			t.Errorf("%v: got %v, want %v", test.given, got, test.want)
		}
	}
}
