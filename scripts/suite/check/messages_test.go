package check_test

import (
	"strconv"
	"testing"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

func itoa(n int) string { return strconv.Itoa(n) }

// knows adds what n1 says of its applied index.
func (s *story) knows(index uint64) {
	s.add(history.Op{Func: "digest", Outcome: history.OK, Out: &history.Value{Index: index}})
}

func TestMessages(t *testing.T) {
	type run struct {
		story
		check.MessageRun
	}
	// send has n1 forward a message that comes to the places named.
	send := func(r *run, meid string, places ...string) {
		m := check.Message{Number: uint64(len(r.Messages) + 1), Sent: true, Via: check.ByNode, Node: "n1", MEID: meid, Time: r.now}
		r.Messages = append(r.Messages, m)
		for _, p := range places {
			got := m
			got.Sent, got.SentAt, got.Time, got.Side, got.Sink = false, m.Time, m.Time+5, p[:1], p[2:]
			r.Messages = append(r.Messages, got)
		}
		r.now += 20
	}
	for name, c := range map[string]struct {
		half, wrong bool
		tell        func(*run)
	}{
		"kept": {tell: func(r *run) {
			r.own("m", "x:1", 3)
			r.load(2, 4)
			r.knows(5)
			send(r, "m", "M n1")
			send(r, "", "A n1", "A n2", "A n3")
		}},
		"two sides":      {half: true, tell: func(r *run) { send(r, "", "A n1", "B n2") }},
		"twice":          {half: true, tell: func(r *run) { send(r, "", "A n1", "A n1") }},
		"from nobody":    {half: true, tell: func(r *run) { send(r, "", "A n1"); r.Messages = r.Messages[1:] }},
		"none ever came": {half: true, tell: func(r *run) { send(r, "") }},
		"a former owner": {wrong: true, tell: func(r *run) {
			r.own("m", "x:1", 3)
			r.own("m", "y:1", 4)
			r.knows(5)
			send(r, "m", "M n1")
		}},
		"a former owner, of a node that does not know": {tell: func(r *run) {
			r.own("m", "x:1", 3)
			r.own("m", "y:1", 4)
			r.knows(3)
			send(r, "m", "M n1")
		}},
		"a former owner, of a node that started anew": {tell: func(r *run) {
			r.own("m", "x:1", 3)
			r.own("m", "y:1", 4)
			r.knows(5)
			r.Faults = []check.Fault{{Kind: "kill", Nodes: []string{"n1"}, Start: r.now, End: r.now + 1}}
			r.now += 2
			send(r, "m", "M n1")
		}},
		"a later owner": {tell: func(r *run) {
			r.own("m", "x:1", 3)
			r.knows(5)
			r.add(history.Op{Func: "own", Key: "m", Outcome: history.Info, In: &history.Value{Owner: "y:1"}})
			send(r, "m", "M n2")
		}},
		"an owner that it never had": {wrong: true, tell: func(r *run) {
			r.own("m", "x:1", 3)
			r.knows(5)
			send(r, "m", "M n3")
		}},
		"a former table": {wrong: true, tell: func(r *run) {
			r.load(1, 3)
			r.load(2, 4)
			r.knows(5)
			send(r, "", "B n1")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{MessageRun: check.MessageRun{Sinks: map[string]string{"x:1": "n1", "y:1": "n2"}}}
			c.tell(r)
			r.Ops = r.ops
			whole, right := check.Messages(r.MessageRun)
			judge(t, whole, c.half)
			judge(t, right, c.wrong)
		})
	}
}
