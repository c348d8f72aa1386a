package routing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
)

var anyone = routing.Sender{Source: "anyone:1"}

// target is where messages go by the table, in the form of its text.
func target(s routing.State, mtype, subID int32, from routing.Sender) string {
	e := s.Table.Lookup(mtype, subID, from)
	switch {
	case e == nil:
		return "none"
	case e.ByMEID:
		return "%meid"
	}
	var groups []string
	for _, g := range e.Groups {
		groups = append(groups, strings.Join(g, ","))
	}
	return strings.Join(groups, ";")
}

// TestFallback is case T08.
func TestFallback(t *testing.T) {
	s := state(t, table("mse|105|-1|a:1", "mse|106|10|b:1"))
	tests := []struct {
		mtype, subID int32
		want         string
	}{{105, 77, "a:1"}, {105, -1, "a:1"}, {106, 11, "none"}, {106, 10, "b:1"}, {106, -1, "none"}, {107, -1, "none"}}
	for _, test := range tests {
		if got := target(s, test.mtype, test.subID, anyone); got != test.want {
			t.Errorf("%d/%d: got %s, want %s", test.mtype, test.subID, got, test.want)
		}
	}
}

func TestSenders(t *testing.T) {
	s := state(t, table("mse|100|-1|all:1", "mse|100,app0:1,10.0.0.1:1|-1|some:1", "mse|101,app0:1|5|x:1", "mse|101|-1|y:1",
		"mse|102,app0:1|-1|x:1", "mse|102|-1|y:1"))
	tests := []struct {
		mtype, subID int32
		from         routing.Sender
		want         string
	}{
		{100, -1, anyone, "all:1"},
		{100, -1, routing.Sender{}, "all:1"},
		{100, -1, routing.Sender{Source: "app0:1"}, "some:1"},
		{100, -1, routing.Sender{Source: "other:1", Address: "10.0.0.1:1"}, "some:1"},
		{100, -1, routing.Sender{Source: "other:1", Name: "app0:1"}, "some:1"},
		{100, -1, routing.Sender{Source: "app0"}, "all:1"},
		{101, 5, routing.Sender{Source: "app0:1"}, "x:1"},
		{101, 5, anyone, "y:1"}, // the entry is not there for this sender
		{102, -1, routing.Sender{Source: "app0:1"}, "y:1"},
	}
	for _, test := range tests {
		if got := target(s, test.mtype, test.subID, test.from); got != test.want {
			t.Errorf("%d/%d from %v: got %s, want %s", test.mtype, test.subID, test.from, got, test.want)
		}
	}
}

// TestDelForSenders: for a sender, del removes what that sender had.
func TestDelForSenders(t *testing.T) {
	s := state(t, table("mse|100|-1|a:1", "mse|101,app0:1|-1|a:1"))
	s, changes := change(t, s, "updatert|start\ndel|100,app0:1|-1\ndel|101,other:1|-1\ndel|102,app0:1|-1\nupdatert|end|3\n")
	if diff := cmp.Diff(changes.Routes, []routing.Key{{MType: 100, SubID: -1}, {MType: 101, SubID: -1}}); diff != "" {
		t.Error(diff)
	}
	app0 := routing.Sender{Source: "app0:1"}
	if got := target(s, 100, -1, app0); got != "none" {
		t.Errorf("got %s", got)
	}
	if got := target(s, 100, -1, anyone); got != "a:1" {
		t.Errorf("got %s", got)
	}
	again := state(t, string(s.AppendText(nil)))
	if again.Digest() != s.Digest() {
		t.Errorf("printed and loaded:\n%s\nwant\n%s", again.AppendText(nil), s.AppendText(nil))
	}
	s = load(t, s, "updatert|start\nmse|100|-1|b:1\nupdatert|end|1\n")
	if got := target(s, 100, -1, app0); got != "b:1" {
		t.Errorf("got %s", got)
	}
}

func TestTextIsCanonical(t *testing.T) {
	s := state(t, "newrt|start|x\nrte|5|b:1\nmse|-2|7|c:1,c:2;d:1\nmse|5,z:1|-1|e:1\nmse|4,z:1|-1|e:1\nmse|4|-1|f:1\nmse|5,z:1|-1|g:1\nmse|6|0|%meid\nnewrt|end\n"+
		"meid_map|start|y\nmme_ar|o:2|m2 m1\nmme_ar|o:1|m3  m4\nmme_ar|o:2|m4\nmme_del|m3 m9\nmeid_map|end\n")
	want := "newrt|start\nmse|-2|7|c:1,c:2;d:1\nmse|4,z:1|-1|e:1\nmse|4|-1|f:1\nmse|5|-1|b:1\nmse|5,z:1|-1|g:1\nmse|6|0|%meid\nnewrt|end|6\n" +
		"meid_map|start\nmme_ar|o:2|m1 m2 m4\nmeid_map|end|1\n"
	if diff := cmp.Diff(string(s.AppendText(nil)), want); diff != "" {
		t.Error(diff)
	}
	if got, want := string(routing.State{}.AppendText(nil)), "newrt|start\nnewrt|end|0\nmeid_map|start\nmeid_map|end|0\n"; got != want {
		t.Errorf("empty: %q", got)
	}
}

// TestWholeOrNotAtAll: an update with one bad record changes nothing.
func TestWholeOrNotAtAll(t *testing.T) {
	s := state(t, table("mse|100|-1|a:1", "mme_ar|o:1|m1"))
	before := string(s.AppendText(nil))
	bad := []routing.Record{
		{Verb: routing.Route, Key: routing.Key{MType: 1}},
		{Verb: routing.Route, Groups: [][]string{{"a:1", ""}}},
		{Verb: routing.Route, Groups: [][]string{{}}},
		{Verb: routing.Route, Groups: [][]string{{"a:1"}}, ByMEID: true},
		{Verb: routing.Route, Groups: [][]string{make([]string, 33)}},
		{Verb: routing.Route, Groups: [][]string{{"a:1|x"}}},
		{Verb: routing.Route, Groups: [][]string{{"a:1"}}, Senders: []string{""}},
		{Verb: routing.Unroute, Senders: []string{"a b"}},
		{Verb: routing.Assign, Owner: "o", MEIDs: []string{"m2"}},
		{Verb: routing.Assign, Owner: "o:1"},
		{Verb: routing.Assign, Owner: "topic:x", MEIDs: []string{"m2"}},
		{Verb: routing.Release, MEIDs: []string{""}},
		{Verb: routing.Release, MEIDs: []string{strings.Repeat("m", 32)}},
		{Verb: 9},
	}
	for _, r := range bad {
		good := routing.Record{Verb: routing.Assign, Owner: "o:2", MEIDs: []string{"m1"}}
		u := routing.Update{Blocks: []routing.Block{{Kind: routing.FullTable, Records: []routing.Record{good, r}}}}
		if _, _, err := s.Apply(u); err == nil {
			t.Errorf("%+v passes", r)
		}
	}
	if _, _, err := s.Apply(routing.Update{Blocks: []routing.Block{{}}}); err == nil {
		t.Error("a block of no kind passes")
	}
	if got := string(s.AppendText(nil)); got != before {
		t.Errorf("got %s\nwant %s", got, before)
	}
}

func TestSameStateIsTheSamePointer(t *testing.T) {
	text := table("mse|100|-1|a:1", "mse|101,x:1|-1|b:1") + "meid_map|start\nmme_ar|o:1|m1\nmeid_map|end\n"
	s := state(t, text)
	again, changes := change(t, s, text)
	if again != s || !changes.Empty() {
		t.Errorf("loading the same again changed %v", changes)
	}
	again, changes = change(t, s, "updatert|start\nmse|104|-1|d:1\nmse|100|-1|d:1\nupdatert|end|2\n"+text)
	if again != s || !changes.Empty() {
		t.Errorf("a delta, and the same table after it, changed %v", changes)
	}
	next, changes := change(t, s, table("mse|100|-1|a:1", "mse|101,x:1|-1|b:1", "mse|101,y:1|-1|c:1"))
	if diff := cmp.Diff(changes.Routes, []routing.Key{{MType: 101, SubID: -1}}); diff != "" || next.MEIDs != s.MEIDs {
		t.Errorf("changes (- got, + want):\n%s", diff)
	}
	for _, key := range []routing.Key{{MType: 100, SubID: -1}, {MType: 101, SubID: -1}} {
		if s.Table.Entries(key)[0] != next.Table.Entries(key)[0] {
			t.Errorf("%v: an untouched entry is another one", key)
		}
	}
}

// TestUnion: loaded routes come first, derived ones after them.
func TestUnion(t *testing.T) {
	loaded := state(t, table("mse|100|-1|load:1", "mse|101|-1|load:1", "mse|102,x:1|-1|load:1")).Table
	derived := state(t, table("mse|100,x:1|-1|der:1", "mse|101|-1|der:1", "mse|103|-1|der:1")).Table
	u := routing.State{Table: routing.Union(loaded, derived)}
	x := routing.Sender{Source: "x:1"}
	for _, test := range []struct {
		mtype int32
		from  routing.Sender
		want  string
	}{{100, anyone, "load:1"}, {100, x, "der:1"}, {101, x, "der:1"}, {102, x, "load:1"}, {102, anyone, "none"}, {103, x, "der:1"}} {
		if got := target(u, test.mtype, -1, test.from); got != test.want {
			t.Errorf("%d from %v: got %s, want %s", test.mtype, test.from, got, test.want)
		}
	}
	less := state(t, table("mse|100|-1|load:1")).Table
	keys := routing.DiffTables(loaded, less)
	merged, changed := u.Table.Merge(less, derived, keys)
	if merged.Digest() != routing.Union(less, derived).Digest() {
		t.Error("merged step by step and at once differ")
	}
	if diff := cmp.Diff(changed, []routing.Key{{MType: 102, SubID: -1}}); diff != "" {
		t.Error(diff)
	}
	if got := string(routing.State{Table: u.Table}.AppendText(nil)); !strings.Contains(got, "mse|102,x:1") {
		t.Errorf("merging changed the former union:\n%s", got)
	}
}

// TestRoundRobin follows the rules of the library with all members alive.
func TestRoundRobin(t *testing.T) {
	s := state(t, table("mse|100|-1|a:1,a:2,a:3;b:1,b:2", "mse|101|-1|a:1,a:2,a:3", "mse|102|-1|a:1,a:1,a:2"))
	var c routing.Chooser
	entry := func(mtype int32) *routing.Entry { return s.Table.Lookup(mtype, -1, anyone) }
	turns := func(mtype int32, group, n int, health func(string) routing.Health) string {
		var got []string
		for range n {
			m, ok := c.Pick(entry(mtype), group, health)
			if !ok {
				m = "none"
			}
			got = append(got, m)
		}
		return strings.Join(got, " ")
	}
	dead := func(names ...string) func(string) routing.Health {
		return func(m string) routing.Health {
			if slices.Contains(names, m) {
				return routing.Dead
			}
			return routing.Alive
		}
	}
	barred := func(m string) routing.Health {
		if m == "a:1" {
			return routing.Barred
		}
		return routing.Dead
	}
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check(turns(100, 0, 4, nil), "a:1 a:2 a:3 a:1")
	check(turns(100, 1, 3, nil), "b:1 b:2 b:1")
	check(turns(101, 0, 1, nil), "a:1") // its own counter
	check(turns(102, 0, 4, nil), "a:1 a:1 a:2 a:1")
	check(turns(101, 0, 4, dead("a:2")), "a:3 a:1 a:3 a:1")
	check(turns(101, 0, 1, dead("a:1", "a:2", "a:3")), "a:3") // better than nobody
	check(turns(101, 0, 2, barred), "a:2 a:3")
	check(turns(101, 0, 1, func(string) routing.Health { return routing.Barred }), "none")

	s = load(t, s, "updatert|start\nmse|101|-1|a:1,a:2\nupdatert|end|1\n")
	c.Prune(s.Table)
	check(turns(100, 0, 1, nil), "a:2") // untouched: goes on
	check(turns(101, 0, 1, nil), "a:1") // touched: begins again
}

func TestChooserForgets(t *testing.T) {
	s := state(t, table("mse|100|-1|a:1,a:2"))
	e := s.Table.Lookup(100, -1, anyone)
	var c routing.Chooser
	c.Pick(e, 0, nil)
	c.Prune(nil)
	if got, _ := c.Pick(e, 0, nil); got != "a:1" {
		t.Errorf("got %s: the counter of an entry that is gone was kept", got)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	s := state(t, table("mse|100|-1|a:1,a:2", "mse|101|-1|%meid")+"meid_map|start\nmme_ar|o:1|gnb_001_001_0000019b\nmeid_map|end\n")
	var c routing.Chooser
	health := func(string) routing.Health { return routing.Alive }
	meid := []byte("gnb_001_001_0000019b")
	c.Pick(s.Table.Lookup(100, 5, anyone), 0, health)
	if n := testing.AllocsPerRun(100, func() {
		c.Pick(s.Table.Lookup(100, 5, anyone), 0, health)
		if _, ok := s.MEIDs.Owner(string(meid)); !ok {
			t.Error("unknown")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLimitOfSendersPerKey(t *testing.T) {
	var records []string
	for range routing.MaxPerKey + 1 {
		records = append(records, "mse|100,s"+strings.Repeat("i", len(records)%60)+":"+string(rune('a'+len(records)/60%26))+string(rune('a'+len(records)/1560))+"|-1|a:1")
	}
	p := routing.Parse(table(records...), routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (routing.State{}).Apply(p.Update); err == nil || !strings.Contains(err.Error(), "100/-1") {
		t.Errorf("got %v", err)
	}
}

// TestEntriesKeepTheirIdentity: one entry of a key changes, the other does
// not, and the tables that a union is made of are left as they are.
func TestEntriesKeepTheirIdentity(t *testing.T) {
	key := routing.Key{MType: 101, SubID: -1}
	s := state(t, table("mse|101,x:1|-1|b:1", "mse|101,y:1|-1|c:1"))
	next := load(t, s, table("mse|101,x:1|-1|z:1", "mse|101,y:1|-1|c:1"))
	if s.Table.Entries(key)[1] != next.Table.Entries(key)[1] {
		t.Error("an untouched entry is another one")
	}
	twin := state(t, table("mse|101|-1|b:1")).Table
	union := routing.Union(twin, nil)
	loaded := state(t, table("mse|101|-1|b:1", "mse|102|-1|b:1")).Table
	before := loaded.Entries(key)[0]
	merged, _ := union.Merge(loaded, nil, loaded.Keys())
	if merged.Entries(key)[0] != twin.Entries(key)[0] {
		t.Error("an entry of the union that did not change is another one")
	}
	if loaded.Entries(key)[0] != before {
		t.Error("a merge changed the table it read")
	}
}

func TestNothingIsLeftToHide(t *testing.T) {
	s := state(t, table("mse|100,x:1|-1|a:1", "del|100,y:1|-1", "mse|100|-1|b:1"))
	want := "newrt|start\nmse|100,x:1|-1|a:1\nmse|100|-1|b:1\nnewrt|end|2\nmeid_map|start\nmeid_map|end|0\n"
	if diff := cmp.Diff(string(s.AppendText(nil)), want); diff != "" {
		t.Error(diff)
	}
}
