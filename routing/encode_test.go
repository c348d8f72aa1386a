package routing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
)

func join(messages [][]byte) string {
	var b strings.Builder
	for _, m := range messages {
		b.Write(m)
	}
	return b.String()
}

func TestEncodings(t *testing.T) {
	s := state(t, table("mse|100|-1|a:1;b:1,b:2", "mse|101,x:1|-1|a:1", "mse|101,y:1|-1|b:1", "mse|102,y:1|-1|c:1", "mse|103|5|%meid", "mme_ar|o:2|m1", "mme_ar|o:1|m3 m2"))
	keys := []routing.Key{{MType: 100, SubID: -1}, {MType: 101, SubID: -1}, {MType: 102, SubID: -1}, {MType: 999, SubID: 4}}
	forX := &routing.Encoder{ID: "v 7|\n#", Other: func(s string) bool { return s == "y:1" }}
	tests := []struct {
		name string
		got  [][]byte
		want string
	}{
		{"full", (&routing.Encoder{ID: "v1"}).Full(s, []string{"z2", "z1"}), "newrt|start|v1\nmse|100|-1|a:1;b:1,b:2\nmse|101,x:1|-1|a:1\nmse|101,y:1|-1|b:1\nmse|102,y:1|-1|c:1\nmse|103|5|%meid\n" +
			"mme_del|z1 z2\nmme_ar|o:1|M M\nmme_ar|o:2|m1\nnewrt|end|5\n"},
		{"full for x", forX.Full(routing.State{Table: s.Table}, nil), "newrt|start|v-7---\nmse|100|-1|a:1;b:1,b:2\nmse|101,x:1|-1|a:1\nmse|103|5|%meid\nnewrt|end|3\n"},
		{"empty", (&routing.Encoder{ID: "v1"}).Full(routing.State{}, nil), "newrt|start|v1\nnewrt|end|0\n"},
		{"delta", (&routing.Encoder{ID: "v2"}).Delta(s, routing.Changes{Routes: keys, MEIDs: []string{"m3", "m1", "gone", "m3"}}),
			"updatert|start|v2\nmse|100|-1|a:1;b:1,b:2\ndel|101|-1\nmse|101,x:1|-1|a:1\nmse|101,y:1|-1|b:1\ndel|102|-1\nmse|102,y:1|-1|c:1\ndel|999|4\n" +
				"mme_del|gone\nmme_ar|o:1|m3\nmme_ar|o:2|m1\nupdatert|end|7\n"},
		{"delta for x", forX.Delta(s, routing.Changes{Routes: keys}), "updatert|start|v-7---\nmse|100|-1|a:1;b:1,b:2\ndel|101|-1\nmse|101,x:1|-1|a:1\ndel|102|-1\ndel|999|4\nupdatert|end|5\n"},
		{"delta of the map", (&routing.Encoder{ID: "v3"}).Delta(s, routing.Changes{MEIDs: []string{"m1", "gone"}}), "meid_map|start|v3\nmme_del|gone\nmme_ar|o:2|m1\nmeid_map|end|2\n"},
		{"without topics", (&routing.Encoder{}).Full(state(t, table("mse|100|-1|topic:a,b:1", "mse|101|-1|topic:a")), nil), "newrt|start|-\nmse|100|-1|b:1\nnewrt|end|1\n"},
		{"nothing", (&routing.Encoder{ID: "v3"}).Delta(s, routing.Changes{}), ""},
	}
	for _, test := range tests {
		got := join(test.got)
		got = strings.NewReplacer("m2 m3", "M M", "m3 m2", "M M").Replace(got) // any order within a record of a full map
		if diff := cmp.Diff(got, test.want); diff != "" {
			t.Errorf("%s (- got, + want):\n%s", test.name, diff)
		}
	}
}

// TestChunks is case T05: texts are cut at ends of records only.
func TestChunks(t *testing.T) {
	var records []string
	for i := range 300 {
		records = append(records, "mse|"+strings.Repeat("1", 1+i%9)+"|"+strings.Repeat("2", 1+i/9%9)+"|some.host.of.a.long.name:4560")
	}
	records = append(records, "mme_ar|o:1|"+ids(0, 900))
	s := state(t, table(records...))
	whole := (&routing.Encoder{ID: "v"}).Full(s, strings.Fields(ids(900, 999)))
	for _, size := range []int{1, 100, 4000, 1 << 20} {
		enc := routing.Encoder{ID: "v", Chunk: size}
		messages := enc.Full(s, strings.Fields(ids(900, 999)))
		if got, want := join(messages), join(whole); got != want {
			t.Errorf("cut at %d: together they are not the whole", size)
		}
		for _, m := range messages {
			if m[len(m)-1] != '\n' || len(m) > size && strings.Count(string(m), "\n") > 1 {
				t.Errorf("cut at %d: message of %d bytes: %.40q...", size, len(m), m)
			}
		}
	}
}

func TestGroupsOfAPush(t *testing.T) {
	s := state(t, table("mse|100|-1|topic:alerts,a:1;b:1", "mse|101,x:1|-1|b:1", "mse|102|-1|b:1", "mse|102,x:1|-1|dead:1", "mse|103|-1|%meid"))
	enc := routing.Encoder{ID: "v", Groups: func(e *routing.Entry) ([][]string, bool) {
		if e.ByMEID {
			return [][]string{{"floe:4560"}}, false
		}
		var groups [][]string
		for _, g := range e.Groups {
			var out []string
			for _, m := range g {
				switch name, isTopic := routing.Topic(m); {
				case isTopic && name == "alerts":
					out = append(out, "n1:4563", "n2:4563")
				case m != "dead:1":
					out = append(out, m, "", "no port", "topic:left")
				}
			}
			groups = append(groups, out)
		}
		return groups, false
	}}
	want := "newrt|start|v\nmse|100|-1|n1:4563,n2:4563,a:1;b:1\nmse|101,x:1|-1|b:1\nmse|102|-1|b:1\ndel|102,x:1|-1\nmse|103|-1|floe:4560\nnewrt|end|5\n"
	if diff := cmp.Diff(join(enc.Full(s, nil)), want); diff != "" {
		t.Error(diff)
	}
	if e := s.Table.Entries(routing.Key{MType: 102, SubID: -1}); len(e) != 2 || len(e[0].Groups) != 1 {
		t.Error("writing changed the table")
	}
}

func TestDifferingForAProgram(t *testing.T) {
	s := state(t, table("mse|100,x:1|-1|a:1", "mse|101|-1|a:1", "mse|102|-1|a:1"))
	next, c := change(t, s, "updatert|start\nmse|100,x:1|-1|b:1\nmse|101|-1|b:1\nupdatert|end\n")
	for name, want := range map[string]int{"x:1": 2, "y:1": 1} {
		enc := &routing.Encoder{Other: func(s string) bool { return s != name && slices.Contains([]string{"x:1", "y:1"}, s) }}
		if got := enc.Differing(next.Table, enc, s.Table, c.Routes); len(got) != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	relayed := &routing.Encoder{Groups: func(e *routing.Entry) ([][]string, bool) {
		if e.Key.MType == 102 {
			return [][]string{{"floe:1"}}, false
		}
		return e.Groups, e.ByMEID
	}}
	got := relayed.Differing(s.Table, &routing.Encoder{}, s.Table, s.Table.Keys())
	if diff := cmp.Diff(got, []routing.Key{{MType: 102, SubID: -1}}); diff != "" {
		t.Error(diff)
	}
}

// What is left out of a delta must not stay as it was.
func TestDeltaOfAnEntryThatIsLeftOut(t *testing.T) {
	s := state(t, table("mse|100|-1|topic:a", "mse|101|-1|b:1"))
	got := join((&routing.Encoder{ID: "v"}).Delta(s, routing.Changes{Routes: s.Table.Keys()}))
	if diff := cmp.Diff(got, "updatert|start|v\ndel|100|-1\nmse|101|-1|b:1\nupdatert|end|2\n"); diff != "" {
		t.Error(diff)
	}
}

func TestExplain(t *testing.T) {
	s := state(t, table("mse|105|10|a:1", "mse|106|-1|self:1;a:1,self:1", "mse|107|-1|self:1", "mse|108,other:1|-1|a:1", "mse|109|-1|%meid", "mse|110|-1|a:1", "del|110,self:1|-1", "mme_ar|o:1|m1"))
	self := routing.Sender{Source: "self:1"}
	tests := []struct {
		query  routing.Query
		reason routing.Reason
		groups [][]string
		owner  string
		why    string
	}{
		{routing.Query{MType: 105, SubID: 10, Sender: self}, "", [][]string{{"a:1"}}, "", "entry for every sender"},
		{routing.Query{MType: 105, SubID: 11, Sender: self}, "no_entry", nil, "", "type 105 has entries for sub id 10"},
		{routing.Query{MType: 999, SubID: 11, Sender: self}, "no_entry", nil, "", "type 999 without sub id: no entry"},
		{routing.Query{MType: 106, SubID: 3, Sender: self}, "", [][]string{{"a:1"}}, "", "sender itself is left out of self:1"}, // T06
		{routing.Query{MType: 107, SubID: -1, Sender: self}, "dead_endpoint", nil, "", "nobody is left"},
		{routing.Query{MType: 108, SubID: -1, Sender: self}, "no_entry", nil, "", "other:1 only, not this sender"},
		{routing.Query{MType: 109, SubID: -1, MEID: "m1", Sender: self}, "", nil, "o:1", `"m1" belongs to o:1`},
		{routing.Query{MType: 109, SubID: -1, MEID: "m2", Sender: self}, "unknown_meid", nil, "", "spelled almost like it: m1"},
		{routing.Query{MType: 109, SubID: -1, Sender: self}, "unknown_meid", nil, "", "no MEID"},
		{routing.Query{MType: 110, SubID: -1, Sender: self}, "no_entry", nil, "", "removed for self:1"},
		{routing.Query{MType: 110, SubID: -1, Sender: anyone}, "", [][]string{{"a:1"}}, "", "every sender"},
	}
	for _, test := range tests {
		a := s.Explain(test.query)
		why := strings.Join(a.Why, "\n")
		if a.Reason != test.reason || a.Owner != test.owner || !strings.Contains(why, test.why) {
			t.Errorf("%+v: got %q, owner %q\n%s", test.query, a.Reason, a.Owner, why)
		}
		if diff := cmp.Diff(a.Groups, test.groups); diff != "" {
			t.Errorf("%+v: %s", test.query, diff)
		}
	}
}
