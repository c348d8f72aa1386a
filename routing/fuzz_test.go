package routing_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"floe/routing"
)

func seeds(f *testing.F) {
	for _, text := range vectors(f) {
		f.Add(text)
	}
	f.Add(table("mse|100,x:1|-1|a:1", "mse|100|-1|b:1", "del|100,y:1|-1", "mse|101|5|topic:a b,[::1]:2", "mme_ar|o:1|a b", "mme_del|a"))
	f.Add("updatert|start|u\ndel|1|1\nrte|5|a:1|7\nupdatert|end|2\rmeid_map|start\rmse|7|-1|%meid\nmeid_map|end|0|md5\r\n")
}

// FuzzReader: no text does harm, and a text in two messages is read as it is
// in one if it is cut at the end of a record.
func FuzzReader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		whole := app0()
		answers, err := whole.Push(text)
		if err != nil || strings.Contains(text, "\x00") {
			return
		}
		_, rest, _ := strings.Cut(text[len(text)/2:], "\n")
		cut := len(text) - len(rest)
		parts := app0()
		before, err1 := parts.Push(text[:cut])
		after, err2 := parts.Push(text[cut:])
		if err1 != nil || err2 != nil || !slices.Equal(slices.Concat(before, after), answers) {
			t.Fatalf("whole %q, parts %q %q (%v, %v)", answers, before, after, err1, err2)
		}
		if !maps.Equal(whole.MEIDs(), parts.MEIDs()) || !slices.EqualFunc(whole.Routes(), parts.Routes(), (*routing.Entry).Equal) {
			t.Fatal("tables differ")
		}
	})
}

// FuzzParse: what the strict parser lets pass can be applied, survives
// printing, and means to a program what it means to us.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		p := routing.Parse(text, routing.Options{})
		if p.Err() != nil {
			return
		}
		s, _, err := routing.State{}.Apply(p.Update)
		if err != nil {
			t.Fatal(err)
		}
		printed := string(s.AppendText(nil))
		again := routing.Parse(printed, routing.Options{})
		if err := again.Err(); err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		twice, _, err := routing.State{}.Apply(again.Update)
		if err != nil || string(twice.AppendText(nil)) != printed || twice.Digest() != s.Digest() {
			t.Fatalf("%v: printed %q, loaded and printed %q", err, printed, twice.AppendText(nil))
		}
		sameToProgram(t, s, printed)
		if !slices.ContainsFunc(p.Findings, func(f routing.Finding) bool {
			return f.Code == routing.StrayBlank || f.Code == routing.ManyMEIDs
		}) {
			sameToProgram(t, s, text)
		}
	})
}

func sameToProgram(t *testing.T, s routing.State, text string) {
	r := &routing.Reader{Name: "fuzz.invalid:1"}
	if err := r.File("newrt|start\nnewrt|end|0\n" + text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := maps.Collect(s.MEIDs.All()); !maps.Equal(got, r.MEIDs()) {
		t.Fatalf("program %v, state %v", r.MEIDs(), got)
	}
	held := map[routing.Key]bool{}
	me := routing.Sender{Source: r.Name}
	for _, e := range r.Routes() {
		held[e.Key] = true
		ours := s.Table.Lookup(e.Key.MType, e.Key.SubID, me)
		if ours == nil || ours.Key != e.Key || ours.ByMEID != e.ByMEID || !slices.EqualFunc(ours.Groups, e.Groups, slices.Equal[[]string]) {
			t.Fatalf("program %+v, state %+v", e, ours)
		}
	}
	for e := range s.Table.All() {
		if ours := s.Table.Lookup(e.Key.MType, e.Key.SubID, me); ours != nil && ours.Key == e.Key && !held[e.Key] {
			t.Fatalf("a program has no entry %v", e.Key)
		}
	}
}
