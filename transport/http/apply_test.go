package http_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
	"floe/transport/http/draw"
)

func (w *world) apply(t *testing.T, a api.Apply) (api.Applied, api.Kind, string) {
	t.Helper()
	status, body, _ := w.do(t, "POST", "/v1/apply", a)
	if status != 200 {
		return api.Applied{}, kind(body), body
	}
	var out api.Applied
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out, "", body
}

func steps(a api.Applied) string {
	var out []string
	for _, c := range a.Changes {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %d", c.Op, c.From, c.To, c.Cost, c.Was)))
	}
	return strings.Join(out, "; ")
}

func TestApply(t *testing.T) {
	const manual = "create A B C\nlink A B 0\nlink A C 1\n"
	w := newWorld(t)
	stories := []struct {
		name  string
		ask   api.Apply
		steps string
	}{
		{"check first", api.Apply{Script: manual, Check: true}, "create A  0 0; create B  0 0; create C  0 0; link A B 0 0; link A C 1 0"},
		{"a new graph", api.Apply{Script: manual}, "create A  0 0; create B  0 0; create C  0 0; link A B 0 0; link A C 1 0"},
		{"once more", api.Apply{Script: manual}, ""},
		{"a new cost", api.Apply{Script: "create A\nlink A C -2"}, "cost A C -2 1"},
		{"nothing goes", api.Apply{Script: "create A"}, ""},
		{"what would go", api.Apply{Script: "create A B\nlink A B", Prune: true, Check: true}, "unlink A C 0 0; destroy C  0 0"},
		{"prune", api.Apply{Script: "create A B\nlink A B", Prune: true}, "unlink A C 0 0; destroy C  0 0"},
		{"a link names its topics", api.Apply{Script: "link A B", Prune: true}, ""},
		{"the own instance", api.Apply{Script: "link A IceStorm/B 0"}, ""},
		{"to another cluster", api.Apply{Script: "link A east/X 3"}, "link A east/X 3 0"},
		{"again", api.Apply{Script: "link A east/X 3"}, ""},
		{"its cost", api.Apply{Script: "link A east/X 4"}, "cost A east/X 4 3"},
		{"to messages", api.Apply{Script: "create rmr:7; link A rmr:7; link A --to-messages 7 3; link A --to-messages=7/1"}, "create rmr:7  0 0; link A rmr:7 0 0; link A rmr:7 3 0; link A rmr:7/1 0 0"},
		{"their costs", api.Apply{Script: "link A 4 --to-messages 007\nlink A --to-messages 7/1 -2"}, "cost A rmr:7 4 3; cost A rmr:7/1 -2 0"},
		{"once more", api.Apply{Script: "link A --to-messages 7 4; link A rmr:7"}, ""},
		{"pruned alone", api.Apply{Script: "create A B; link A B; link A rmr:7; link A east/X 4", Prune: true}, "unlink A rmr:7 0 0; unlink A rmr:7/1 0 0"},
		{"to messages again", api.Apply{Script: "link A --to-messages 7 4"}, "link A rmr:7 4 0"},
		{"the topic alone", api.Apply{Script: "create A B; link A B; link A --to-messages 7 4; link A east/X 4", Prune: true}, "unlink A rmr:7 0 0; destroy rmr:7  0 0"},
		{"prune all", api.Apply{Prune: true}, "unlink A B 0 0; unlink A east/X 0 0; unlink A rmr:7 0 0; destroy A  0 0; destroy B  0 0"},
	}
	w.group.must(fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "22222222-0000-0000-0000-000000000000"}})
	for _, s := range stories {
		applied, _, body := w.apply(t, s.ask)
		if got := steps(applied); got != s.steps || applied.Applied == s.ask.Check {
			t.Errorf("%s: got %q, want %q; %s", s.name, got, s.steps, body)
		}
	}
	if w.group.View().Graph.Len() != 0 {
		t.Error("topics are left")
	}
}

// A script with one bad line changes nothing and the line is named.
func TestApplyRefuses(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"})
	tests := []struct {
		script string
		line   int
	}{
		{"create X\nlink X zz 1", 2},
		{"create X\nlink X A 2147483648", 2},
		{"create X\nlink X A 1.5", 2},
		{"create X\n\nlink X A 0x2", 3},
		{"create X\nlink X", 2},
		{"create X\ncreate", 2},
		{"create X\ndestroy A", 2},
		{"create X\n# note", 2},
		{"create X\nlink A X 1\nlink A X 2", 3},
		{"create X\ncreate \"open", 2},
		{"create X\ncreate a/b/c", 2},
		{"create X\ncreate other/y", 2},
		{"create X\nlink A west/y 1", 2},
		{"create X\nlink A --to-messages", 2},
		{"create X\nlink A --to-messages 1/x", 2},
		{"create X\nlink A X --to-messages 1", 2},
		{"create X\nlink A 1 2 --to-messages 1", 2},
		{"create X\nlink zz --to-messages 1", 2},
		{"create X\nlink A --to-messages 1 --to-messages 1", 2},
		{"create X\nlink A '--to-messages' 1", 2},
		{"create X\nlink A --to-messages 1\nlink A --to-messages 1 2", 3},
		{"create X\ncreate " + strings.Repeat("y", 256), 2},
	}
	for _, tt := range tests {
		raw, err := json.Marshal(api.Apply{Script: tt.script})
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := w.do(t, "POST", "/v1/apply", string(raw))
		var e api.ErrorBody
		if json.Unmarshal([]byte(body), &e) != nil || e.Error == nil {
			t.Errorf("%.40q: got %s", tt.script, body)
			continue
		}
		if e.Error.Line != tt.line || !strings.HasPrefix(e.Error.Message, fmt.Sprintf("line %d: ", tt.line)) {
			t.Errorf("%.40q: got line %d, %q, want line %d", tt.script, e.Error.Line, e.Error.Message, tt.line)
		}
		if w.group.View().Graph.Len() != 1 {
			t.Fatalf("%.40q: changed the graph", tt.script)
		}
	}
}

// A change by somebody else between the look and the change is looked at anew.
func TestApplyCrossed(t *testing.T) {
	w := newWorld(t)
	w.group.before = func() { w.group.must(fsm.CreateTopic{Name: "B"}) }
	applied, _, body := w.apply(t, api.Apply{Script: "create A B"})
	if got := steps(applied); got != "create A  0 0" {
		t.Errorf("got %q, %s", got, body)
	}
	if w.group.View().Graph.Len() != 2 {
		t.Error("want both topics")
	}
}

// What the graph is printed as makes the same graph, and printing it again
// gives the same text.
func TestGraphRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := newWorld(t), newWorld(t)
		names := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.SampledFrom([]rune("aB/\\\"' \n;-*#é")), 0, 8, -1), 1, 6, rapid.ID[string]).Draw(rt, "names")
		for _, n := range names {
			a.group.must(fsm.CreateTopic{Name: n})
		}
		for range rapid.IntRange(0, 8).Draw(rt, "links") {
			from, to := rapid.SampledFrom(names).Draw(rt, "from"), rapid.SampledFrom(names).Draw(rt, "to")
			a.group.must(fsm.Link{From: from, To: to, Cost: rapid.Int32().Draw(rt, "cost"), Replace: true})
		}
		for range rapid.IntRange(0, 2).Draw(rt, "links to messages") {
			m := topics.ToMessages(topics.Messages{MType: rapid.Int32Range(0, 2).Draw(rt, "mtype"), SubID: rapid.Int32Range(-1, 1).Draw(rt, "subid")})
			a.group.must(fsm.Link{From: rapid.SampledFrom(names).Draw(rt, "from"), Remote: &m, Cost: rapid.Int32().Draw(rt, "cost"), Replace: true})
		}
		text := draw.Script(a.graph(t))
		if _, _, body := b.apply(t, api.Apply{Script: text}); strings.Contains(body, `"error"`) {
			rt.Fatalf("%s: %s", text, body)
		}
		if d := cmp.Diff(text, draw.Script(b.graph(t))); d != "" {
			rt.Fatal(d)
		}
	})
}

func (w *world) graph(t *testing.T) api.Graph {
	t.Helper()
	_, body, _ := w.do(t, "GET", "/v1/graph", nil)
	var g api.Graph
	if err := json.Unmarshal([]byte(body), &g); err != nil {
		t.Fatal(err)
	}
	return g
}
