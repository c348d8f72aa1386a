package check_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

// routes adds an operation on the table or the map.
func (s *story) routes(function string, in, out *history.Value) *history.Op {
	return s.add(history.Op{Func: function, Key: "routes", Outcome: history.OK, In: in, Out: out})
}

func (s *story) load(table, version uint64) {
	s.routes("load", &history.Value{Table: table}, &history.Value{Version: version})
}

func (s *story) read(function string, table, version uint64) {
	s.routes(function, nil, &history.Value{Table: table, Version: version})
}

func (s *story) own(meid, owner string, version uint64) {
	s.add(history.Op{Func: "own", Key: meid, Outcome: history.OK, In: &history.Value{Owner: owner}, Out: &history.Value{Version: version}})
}

func (s *story) owner(meid, owner string) {
	s.add(history.Op{Func: "owner", Key: meid, Outcome: history.OK, Out: &history.Value{Owner: owner, Absent: owner == ""}})
}

func TestTables(t *testing.T) {
	for name, c := range map[string]struct {
		broken bool
		tell   func(*story)
	}{
		"kept": {tell: func(s *story) {
			s.load(1, 10)
			s.read("routes", 1, 12)
			s.load(2, 15)
			s.read("stale", 1, 12)
			s.read("routes", 2, 15)
		}},
		"half a table": {broken: true, tell: func(s *story) {
			s.load(1, 10)
			s.routes("stale", nil, &history.Value{Table: 1, Version: 10, Mixed: "begins as table 1, ends as table 2"})
		}},
		"an application holds half a table": {broken: true, tell: func(s *story) {
			s.load(1, 10)
			s.read("routes", 1, 10)
			s.routes("app", nil, &history.Value{Mixed: "begins as table 1, ends as table 2"})
		}},
		"an old table under a new version": {broken: true, tell: func(s *story) {
			s.load(1, 10)
			s.load(2, 15)
			s.read("stale", 1, 16)
		}},
		"a new table under an old version": {broken: true, tell: func(s *story) {
			s.load(1, 10)
			s.load(2, 15)
			s.read("stale", 2, 12)
		}},
		"an older version is read later": {broken: true, tell: func(s *story) {
			s.load(1, 10)
			s.load(2, 15)
			s.read("routes", 1, 12)
		}},
		"two tables of one version": {broken: true, tell: func(s *story) {
			s.load(1, 10)
			s.load(2, 10)
			s.read("routes", 2, 10)
		}},
		"nobody read": {broken: true, tell: func(s *story) { s.load(1, 10) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Tables(s.ops), c.broken)
		})
	}
}

func TestReadTable(t *testing.T) {
	sinks := check.Sinks{"a:1": "A", "b:1": "B"}
	text := func(first, last uint64, to func(i int) string) []string {
		lines := []string{"mse|20000|-1|" + check.Mark(first), "mse|29999|-1|" + check.Mark(last)}
		for i := range check.RouteCount {
			lines = append(lines, "mse|"+itoa(check.FirstRoute+i)+"|-1|"+to(i))
		}
		return lines
	}
	toB := func(int) string { return "b:1" }
	if table, mixed := sinks.ReadTable(text(7, 7, toB)); table != 7 || mixed != "" {
		t.Errorf("table %d, mixed %q", table, mixed)
	}
	for name, lines := range map[string][]string{
		"marks":       text(7, 8, toB),
		"other side":  text(8, 8, toB),
		"both sides":  text(7, 7, func(i int) string { return []string{"a:1", "b:1"}[i%2] }),
		"route lacks": text(7, 7, toB)[:check.RouteCount],
	} {
		if _, mixed := sinks.ReadTable(lines); mixed == "" {
			t.Errorf("%s: taken for a whole table", name)
		}
	}
}

func TestRegistersOfRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		broken bool
		tell   func(*story)
	}{
		"kept": {tell: func(s *story) {
			s.own("m", "x:1", 3)
			s.owner("m", "x:1")
			s.add(history.Op{Func: "disown", Key: "m", Outcome: history.OK})
			s.owner("m", "")
			s.load(1, 5)
			s.routes("swap", &history.Value{Table: 3, Was: 1}, &history.Value{Version: 6})
			s.read("routes", 3, 6)
		}},
		"more than can be checked, the first half with a read under way": {tell: func(s *story) {
			s.load(1, 1)
			for i := range uint64(199) {
				s.load(i+2, i+2)
			}
			s.read("routes", 250, 250)
			s.ops[len(s.ops)-1].Start = s.ops[100].Start + 1
			for i := uint64(201); i < 260; i++ {
				s.load(i, i)
			}
			slices.SortFunc(s.ops, func(a, b history.Op) int { return cmp.Compare(a.Start, b.Start) })
		}},
		"a former owner is read": {broken: true, tell: func(s *story) {
			s.own("m", "x:1", 3)
			s.own("m", "y:1", 4)
			s.owner("m", "x:1")
		}},
		"two owners": {broken: true, tell: func(s *story) {
			s.own("m", "x:1", 3)
			s.add(history.Op{Func: "own", Key: "m", Outcome: history.Info, In: &history.Value{Owner: "y:1"}})
			s.owner("m", "y:1")
			s.owner("m", "x:1")
		}},
		"an owner after the deletion": {broken: true, tell: func(s *story) {
			s.own("m", "x:1", 3)
			s.add(history.Op{Func: "disown", Key: "m", Outcome: history.OK})
			s.owner("m", "x:1")
		}},
		"the table before": {broken: true, tell: func(s *story) {
			s.load(1, 5)
			s.load(2, 6)
			s.read("routes", 1, 6)
		}},
		"two changes of one table": {broken: true, tell: func(s *story) {
			s.load(1, 5)
			s.routes("swap", &history.Value{Table: 3, Was: 1}, &history.Value{Version: 6})
			s.routes("swap", &history.Value{Table: 5, Was: 1}, &history.Value{Version: 7})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Register(s.ops, 10*time.Second, t.TempDir()), c.broken)
		})
	}
}

func TestApps(t *testing.T) {
	given := func(s *story, version uint64) {
		s.add(history.Op{Func: "given", Key: "app", Outcome: history.OK, Out: &history.Value{Version: version}})
	}
	end := func(s *story, holds string) {
		s.add(history.Op{Func: "final", Outcome: history.OK, Out: &history.Value{Text: "t"}})
		s.add(history.Op{Func: "app", Key: "app", Outcome: history.OK, Out: &history.Value{Text: holds}})
	}
	for name, c := range map[string]struct {
		broken bool
		tell   func(*story)
	}{
		"kept":      {tell: func(s *story) { given(s, 1); given(s, 3); end(s, "t") }},
		"made good": {tell: func(s *story) { given(s, 3); given(s, 2); given(s, 3); end(s, "t") }},
		"back":      {broken: true, tell: func(s *story) { given(s, 3); given(s, 2); end(s, "t") }},
		"old":       {broken: true, tell: func(s *story) { given(s, 3); end(s, "u") }},
		"never":     {broken: true, tell: func(s *story) { end(s, "t") }},
		"unnamed":   {broken: true, tell: func(s *story) { given(s, 0); end(s, "t") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Apps(s.ops), c.broken)
		})
	}
}
