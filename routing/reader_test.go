package routing_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
)

// TestReaderAgainstTheLibrary holds what texts that were made up at random
// showed, played to version 4.9.4 and to a Reader.
func TestReaderAgainstTheLibrary(t *testing.T) {
	r := app0()
	if _, err := r.Push("meid_map|start|m1\nmme_ar| #o:1 |a\nmme_ar|o:2 # x |b\nmeid_map|end\n"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "#o:1 ", "b": "o:2"}
	if diff := cmp.Diff(r.MEIDs(), want); diff != "" {
		t.Error(diff)
	}
}

// TestReaderOverMessages: a table may come in several messages, and a record
// that is cut between them is read as two.
func TestReaderOverMessages(t *testing.T) {
	r := app0()
	for _, m := range []struct{ text, answer string }{
		{"newrt|start|t1\nmse|100|-1|a:74", ""},
		{"01\nmse|101|-1|b:1\n", ""},
		{"newrt|end|2\n", "OK t1 \n\x00"},
	} {
		answers, err := r.Push(m.text)
		if err != nil || strings.Join(answers, "") != m.answer {
			t.Errorf("%q: %q, %v", m.text, answers, err)
		}
	}
	if got := r.Lookup(100, -1).Groups[0][0]; got != "a:74" {
		t.Errorf("got %s: the cut record is installed as it is", got)
	}
}

// TestSeedIsNoFullTable: after a seed file a program waits for a full table
// before it takes deltas, and keeps the file's MEIDs.
func TestSeedIsNoFullTable(t *testing.T) {
	r := app0()
	if err := r.Seed(seed(t, "seed-count-3")); err != nil || !r.Ready() {
		t.Fatal(err)
	}
	delta := "updatert|start|u\nmse|100|-1|a:1\nupdatert|end|1\n"
	if answers, err := r.Push(delta); len(answers) != 0 || err != nil {
		t.Errorf("%q, %v", answers, err)
	}
	before := maps.Clone(r.MEIDs())
	if _, err := r.Push("newrt|start|t\nnewrt|end|0\n"); err != nil {
		t.Fatal(err)
	}
	if answers, err := r.Push(delta); len(answers) != 1 || err != nil {
		t.Errorf("%q, %v", answers, err)
	}
	if diff := cmp.Diff(r.MEIDs(), before); diff != "" {
		t.Error(diff)
	}
}

// TestEmptyReader: the zero value answers.
func TestEmptyReader(t *testing.T) {
	var r routing.Reader
	if r.Lookup(1, 1) != nil || r.Routes() != nil || r.MEIDs() != nil || r.Ready() || r.Open() {
		t.Error("a program without a table has one")
	}
}
