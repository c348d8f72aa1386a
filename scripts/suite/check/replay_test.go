package check_test

import (
	"testing"

	"floe/fsm"
	"floe/routing"
	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/replay"
)

// committed makes a log of changes, from index 1.
func committed(t *testing.T, ops ...fsm.Op) *replay.Log {
	t.Helper()
	l := &replay.Log{Node: "n1", Applied: uint64(len(ops))}
	for i, op := range ops {
		data, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		l.Entries = append(l.Entries, replay.Entry{Index: uint64(i + 1), Term: 1, Data: data})
	}
	return l
}

// table is a change of the routes to one entry.
func table(endpoint string) fsm.ChangeRoutes {
	return fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.FullTable, Records: []fsm.RouteRecord{
		{Verb: routing.Route, MType: 7, SubID: -1, Groups: [][]string{{endpoint}}},
	}}}}
}

func TestReplay(t *testing.T) {
	atX := check.Sum([]string{"mse|7|-1|x:1"}, nil)
	final := func(s *story, topics ids, text string) {
		s.add(history.Op{Func: "final", Outcome: history.OK, Out: &history.Value{Topics: topics, Text: text}})
	}
	stale := func(s *story, key, text string, index, version, session uint64) {
		s.add(history.Op{Func: "stale", Key: key, Process: "p", Outcome: history.OK,
			Out: &history.Value{Text: text, Index: index, Version: version, Session: session}})
	}
	for name, c := range map[string]struct {
		log, stale bool // broken
		faults     []check.Fault
		lost       int
		tell       func(*story, *replay.Log)
	}{
		"kept": {tell: func(s *story, _ *replay.Log) {
			s.created("a", 1)
			s.load(1, 2)
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 1, 0, 1)
			stale(s, "routes", atX, 2, 2, 1)
			final(s, ids{"a": 1}, atX)
		}},
		"acknowledged and not in the log": {log: true, lost: 1, tell: func(s *story, _ *replay.Log) {
			s.created("b", 2)
			final(s, ids{"a": 1}, atX)
		}},
		"a table that is not in the log": {log: true, lost: 1, tell: func(s *story, _ *replay.Log) {
			s.load(2, 3)
			final(s, ids{"a": 1}, atX)
		}},
		"another id":     {log: true, tell: func(s *story, _ *replay.Log) { final(s, ids{"a": 2}, atX) }},
		"other routes":   {log: true, tell: func(s *story, _ *replay.Log) { final(s, ids{"a": 1}, "other") }},
		"a link appears": {log: true, tell: func(s *story, _ *replay.Log) { s.final("n1", ids{"a": 1}, costs{"a>a": 1}) }},
		"other entries":  {log: true, tell: func(_ *story, l *replay.Log) { l.Differ = []string{"index 1"} }},
		"cut short":      {log: true, tell: func(_ *story, l *replay.Log) { l.Applied = 9 }},
		"unreadable":     {log: true, tell: func(_ *story, l *replay.Log) { l.Entries[0].Data = []byte{9} }},
		"a stale read of another index": {stale: true, tell: func(s *story, _ *replay.Log) {
			stale(s, "topics", check.SumTopics(nil), 1, 0, 1)
		}},
		"a stale read of another version": {stale: true, tell: func(s *story, _ *replay.Log) {
			stale(s, "routes", atX, 2, 1, 1)
		}},
		"an index that falls": {stale: true, tell: func(s *story, _ *replay.Log) {
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 2, 0, 1)
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 1, 0, 1)
		}},
		"an index that falls at a node that went away": {faults: []check.Fault{{Kind: "churn", Nodes: []string{"n1"}, Start: 5, End: 6}}, tell: func(s *story, _ *replay.Log) {
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 2, 0, 1)
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 1, 0, 1)
		}},
		"an index that falls over sessions": {tell: func(s *story, _ *replay.Log) {
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 2, 0, 1)
			stale(s, "topics", check.SumTopics(ids{"a": 1}), 1, 0, 2)
		}},
		"an index of nowhere": {stale: true, tell: func(s *story, _ *replay.Log) { stale(s, "topics", "", 77, 0, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := &story{}, committed(t, fsm.CreateTopic{Name: "a"}, table("x:1"))
			c.tell(s, l)
			r := check.Replay(s.ops, c.faults, l)
			judge(t, r.Log, c.log)
			judge(t, r.Stale, c.stale)
			if r.Lost != c.lost {
				t.Errorf("lost %d, want %d", r.Lost, c.lost)
			}
		})
	}
}
