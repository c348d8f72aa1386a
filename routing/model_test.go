package routing_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"floe/routing"
)

// names of programs; those of apps also limit entries.
var apps = []string{"app0:1", "app1:1", "app2:1"}

func drawSenders(t *rapid.T) string {
	senders := rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"other:1"}, apps...)), 0, 2, rapid.ID[string]).Draw(t, "senders")
	if len(senders) == 0 {
		return ""
	}
	return "," + strings.Join(senders, ",")
}

// drawRecord draws one record of a text, over few keys and MEIDs.
func drawRecord(t *rapid.T) (text string, isMap bool) {
	key := func() string {
		return fmt.Sprintf("%d%s|%d", rapid.IntRange(100, 102).Draw(t, "mtype"), drawSenders(t), rapid.IntRange(-1, 1).Draw(t, "subid"))
	}
	meids := func() string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"m1", "m2", "m3", "m4", "m5"}), 1, 3).Draw(t, "meids"), " ")
	}
	switch rapid.IntRange(0, 4).Draw(t, "record") {
	case 0:
		return "del|" + key(), false
	case 1:
		return "mme_ar|" + rapid.SampledFrom([]string{"o:1", "o:2"}).Draw(t, "owner") + "|" + meids(), true
	case 2:
		return "mme_del|" + meids(), true
	default:
		return "mse|" + key() + "|" + rapid.SampledFrom([]string{"a:1", "a:1,b:1", "a:1;b:1,c:1", "%meid"}).Draw(t, "groups"), false
	}
}

// drawText draws a block of records with the right count.
func drawText(t *rapid.T) string {
	word := rapid.SampledFrom([]string{"newrt", "updatert", "updatert", "meid_map", "meid_map"}).Draw(t, "kind")
	lines := []string{word + "|start|x"}
	n := 0
	for range rapid.IntRange(0, 6).Draw(t, "records") {
		l, isMap := drawRecord(t)
		lines = append(lines, l)
		if isMap == (word == "meid_map") {
			n++
		}
	}
	return strings.Join(append(lines, fmt.Sprintf("%s|end|%d\n", word, n)), "\n")
}

// program is an app that floe serves.
type program struct {
	*routing.Reader
	acked routing.State
	knows bool // acked is what it holds, with nothing sent since
}

// TestProgramsHoldTheState changes a state by random texts and serves three
// programs from it, each at its own pace, with answers that get lost. Each
// must end with what a program holds that reads the texts themselves.
func TestProgramsHoldTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s routing.State
		var gone *routing.Tombstones
		index := uint64(1)
		model := map[string]*routing.Reader{}
		served := map[string]*program{}
		for _, a := range apps {
			model[a] = &routing.Reader{Name: a}
			if _, err := model[a].Push("newrt|start|0\nnewrt|end|0\n"); err != nil {
				t.Fatal(err)
			}
			served[a] = &program{Reader: &routing.Reader{Name: a}}
		}
		change := func(t *rapid.T) {
			text := drawText(t)
			p := routing.Parse(text, routing.Options{})
			if err := p.Err(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			next, c, err := s.Apply(p.Update)
			if err != nil {
				t.Fatal(err)
			}
			index++
			checkChanges(t, s, next, c)
			s, gone = next, gone.After(index, c.MEIDs, next.MEIDs)
			for _, a := range apps {
				answers, err := model[a].Push(text)
				if err != nil || len(answers) != 1 || !strings.HasPrefix(answers[0], "OK ") {
					t.Fatalf("%q, %v\n%s", answers, err, text)
				}
			}
		}
		push := func(t *rapid.T, name string, lost bool) {
			a := served[name]
			enc := routing.Encoder{ID: fmt.Sprint(index), Chunk: rapid.SampledFrom([]int{0, 1, 40}).Draw(t, "chunk"),
				Other: func(s string) bool { return s != name && slices.Contains(apps, s) }}
			var messages [][]byte
			if a.knows {
				messages = enc.Delta(s, routing.Diff(a.acked, s))
			} else {
				messages = enc.Full(s, gone.Since(0))
			}
			a.read(t, messages, fmt.Sprint(index))
			a.acked, a.knows = s, !lost
		}
		t.Repeat(map[string]func(*rapid.T){
			"change": change,
			"push": func(t *rapid.T) {
				push(t, rapid.SampledFrom(apps).Draw(t, "app"), rapid.Bool().Draw(t, "lost"))
			},
			"": func(t *rapid.T) {
				for _, a := range apps {
					compare(t, s, a, model[a])
					checkText(t, s)
				}
			},
		})
		for _, a := range apps {
			push(t, a, false)
			compare(t, s, a, served[a].Reader)
		}
	})
}

// read pushes messages, of which the last one must be answered by OK and
// the others by nothing.
func (p *program) read(t *rapid.T, messages [][]byte, id string) {
	for i, m := range messages {
		answers, err := p.Push(string(m))
		last := i == len(messages)-1
		if err != nil || last != (len(answers) == 1) || last && answers[0] != "OK "+id+" \n\x00" {
			t.Fatalf("message %d of %d: %q, %v\n%s", i, len(messages), answers, err, m)
		}
	}
}

// compare says whether a program holds what the state says for it.
func compare(t *rapid.T, s routing.State, name string, r *routing.Reader) {
	for mtype := int32(100); mtype <= 102; mtype++ {
		for subID := int32(-1); subID <= 2; subID++ {
			got, want := r.Lookup(mtype, subID), s.Table.Lookup(mtype, subID, routing.Sender{Source: name})
			if (got == nil) != (want == nil) || got != nil && (got.Key != want.Key || got.ByMEID != want.ByMEID ||
				!slices.EqualFunc(got.Groups, want.Groups, slices.Equal[[]string])) {
				t.Fatalf("%s, %d/%d: program %+v, state %+v\n%s", name, mtype, subID, got, want, s.AppendText(nil))
			}
		}
	}
	held := maps.Collect(s.MEIDs.All())
	if !maps.Equal(held, r.MEIDs()) {
		t.Fatalf("%s holds %v, state %v", name, r.MEIDs(), held)
	}
	if s.MEIDs.Len() != len(held) {
		t.Fatalf("%d MEIDs, counted %d", len(held), s.MEIDs.Len())
	}
	for _, m := range []string{"m1", "m2", "m3", "m4", "m5", "m6", ""} {
		if owner, ok := s.MEIDs.Owner(m); owner != held[m] || ok != (held[m] != "") {
			t.Fatalf("owner of %s: %s, want %s", m, owner, held[m])
		}
	}
}

// checkChanges: what is said to have changed is what differs.
func checkChanges(t *rapid.T, a, b routing.State, c routing.Changes) {
	want := routing.Diff(a, b)
	meids := slices.Compact(slices.Sorted(slices.Values(c.MEIDs)))
	if !slices.Equal(c.Routes, want.Routes) || !contains(meids, want.MEIDs) {
		t.Fatalf("changes %v, differences %v", c, want)
	}
}

func contains(a, b []string) bool {
	return !slices.ContainsFunc(b, func(s string) bool { return !slices.Contains(a, s) })
}

// checkText: printed, loaded and printed again is the same, digest included.
func checkText(t *rapid.T, s routing.State) {
	text := string(s.AppendText(nil))
	p := routing.Parse(text, routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again, _, err := routing.State{}.Apply(p.Update)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(again.AppendText(nil)); got != text || again.Digest() != s.Digest() {
		t.Fatalf("printed %s\nloaded and printed %s", text, got)
	}
}

// TestUnionIsTheModel: a union is what a program holds that reads the one
// table and then the other.
func TestUnionIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := func(label string) []string {
			var list []string
			for range rapid.IntRange(0, 8).Draw(t, label) {
				if l, isMap := drawRecord(t); !isMap && !strings.HasPrefix(l, "del") {
					list = append(list, l)
				}
			}
			return list
		}
		apply := func(records []string) *routing.Table {
			p := routing.Parse(table(records...), routing.Options{})
			s, _, err := routing.State{}.Apply(p.Update)
			if err != nil || p.Err() != nil {
				t.Fatal(err, p.Err())
			}
			return s.Table
		}
		first, second := body("loaded"), body("derived")
		u := routing.State{Table: routing.Union(apply(first), apply(second))}
		both := apply(append(slices.Clone(first), second...))
		if u.Table.Digest() != both.Digest() {
			t.Fatalf("union\n%s\nwant\n%s", u.AppendText(nil), routing.State{Table: both}.AppendText(nil))
		}
	})
}
