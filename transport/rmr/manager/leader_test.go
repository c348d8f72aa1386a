package manager

import (
	"context"
	"fmt"
	"testing"
	"time"

	"floe/fsm"
)

// The leader's rule, without a network.
// A member that was removed and joins again replays its past: nothing is pushed of it
// by a lease from before.
func TestLeaseCoversNoOlderCopy(t *testing.T) {
	var l lease
	soon := time.Now().Add(time.Hour)
	if l.covers(9, 9) || !l.extend(soon, 10) || l.covers(9, 10) || l.covers(10, 9) || !l.covers(10, 10) {
		t.Error("a lease that began at 10")
	}
	if l.extend(soon, 20) || l.covers(19, 19) || !l.covers(20, 10) {
		t.Error("renewed at 20")
	}
	l.drop()
	if !l.extend(soon, 30) || l.covers(30, 29) || !l.covers(30, 30) {
		t.Error("begun anew at 30")
	}
	if l.extend(soon, 5); !l.covers(5, 5) {
		t.Error("the leader of another cluster is at 5")
	}
}

func TestServing(t *testing.T) {
	now := time.Now()
	v := &fsm.View{
		Servers: []fsm.Server{{ID: "n1"}, {ID: "n2"}, {ID: "n3"}},
		Members: []fsm.Member{{ID: "n1", Addresses: map[string][]string{Listener: {"n1:4561"}}}, {ID: "n2", Addresses: map[string][]string{Listener: {"n2:4561"}}}, {ID: "n3"}},
		Apps:    []fsm.App{{Name: "a", Node: "n1", Serial: 1}, {Name: "b", Node: "n3", Serial: 2}, {Name: "c", Node: "gone", Serial: 3}},
	}
	const limit = 10 * time.Second
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	known := map[string]time.Time{"n1": ago(time.Hour), "n2": ago(time.Hour), "n3": ago(time.Hour), "gone": ago(time.Hour)}
	for name, test := range map[string]struct {
		since time.Duration
		heard map[string]time.Duration
		out   []string
		quits string
		want  string
	}{
		"all live":                {time.Hour, map[string]time.Duration{"n1": 1, "n2": 1, "n3": 1}, nil, "", "out [] in [] c>n2"},
		"one is dead":             {time.Hour, map[string]time.Duration{"n1": limit + 1, "n2": 1, "n3": 1}, nil, "", "out [n1] in [] a>n2 c>n2"},
		"heard just in time":      {time.Hour, map[string]time.Duration{"n1": limit, "n2": 1, "n3": 1}, nil, "", "out [] in [] c>n2"},
		"a new leader":            {limit, map[string]time.Duration{}, nil, "", "out [] in []"},
		"a new leader that waits": {limit + 1, map[string]time.Duration{"n2": 1}, nil, "", "out [n1 n3] in [] a>n2 b>n2 c>n2"},
		"back":                    {time.Hour, map[string]time.Duration{"n1": 1, "n2": 1, "n3": 1}, []string{"n1", "zz"}, "", "out [] in [n1 zz] c>n2"},
		"still out":               {time.Hour, map[string]time.Duration{"n1": limit + 1, "n2": 1, "n3": 1}, []string{"n1"}, "", "out [] in [] a>n2 c>n2"},
		"no leader":               {0, map[string]time.Duration{}, nil, "", "out [] in []"},
		"resigned":                {time.Second, map[string]time.Duration{"n1": 1, "n2": 1, "n3": 1}, nil, "n1", "out [n1] in [] a>n2"},
		"nobody with a listener":  {time.Hour, map[string]time.Duration{"n3": 1}, nil, "", "out [n1 n2] in [] a>n3 c>n3"},
	} {
		r := newRoll()
		for n, at := range known {
			r.known[n] = at
		}
		if test.since > 0 {
			r.since = ago(test.since)
		}
		for n, d := range test.heard {
			r.heard[n] = ago(d)
		}
		if test.quits != "" {
			r.resign(test.quits)
		}
		view := *v
		view.Distribution.Out = test.out
		op := r.serving(&view, now, limit)
		got := fmt.Sprintf("out %v in %v", op.Out, op.In)
		for _, a := range op.Assign {
			got += " " + a.Name + ">" + a.Node
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// A leader gives no lease that it is not sure of.
func TestLeasesOfNoLeader(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.setCut(true)
	if _, err := m.renewed(context.Background(), "n1", nil); err == nil {
		t.Error("a lease without leading")
	}
	g.setCut(false)
	if _, err := m.renewed(context.Background(), "stranger", nil); err == nil {
		t.Error("a lease for who is not in the group")
	}
	if b, err := m.renewed(context.Background(), "n1", nil); err != nil || len(b) != 8 {
		t.Errorf("%v, %v", b, err)
	}
}
