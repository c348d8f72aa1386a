package rmrapp

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
)

func vector(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../routing/testdata/" + name + ".rt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What an App holds is the text of the state it was pushed, where it is in none of it.
func TestHoldsTheState(t *testing.T) {
	parsed := routing.Parse(table("x", "mse|1|-1|a:1,b:1;c:1", "mse|2|7|%meid")+
		block("meid_map", "y", "mme_ar|o:1|m1 m2", "mme_ar|n:1|m3"), routing.Options{})
	state, _, err := routing.State{}.Apply(parsed.Update)
	if err != nil {
		t.Fatal(err)
	}
	encoder := routing.Encoder{ID: "v1", Chunk: 40}
	messages := encoder.Full(state, nil)
	if len(messages) < 2 {
		t.Fatal("one message")
	}
	m := newManager(t)
	a := started(t, Config{})
	nc := m.dial(a.ControlAddress())
	var texts []string
	for _, text := range messages {
		m.push(nc, "", string(text))
		texts = append(texts, string(text))
	}
	if err := a.WaitTable(soon(t), "v1"); err != nil {
		t.Fatal(err)
	}
	got, err := a.Text()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(state.AppendText(nil))); diff != "" {
		t.Error(diff)
	}
	if expected, err := a.TextOf(texts...); err != nil || expected != got {
		t.Error(expected, err)
	}
	if diff := cmp.Diff(a.MEIDs(), map[string]string{"m1": "o:1", "m2": "o:1", "m3": "n:1"}); diff != "" {
		t.Error(diff)
	}
	for _, l := range []struct {
		mtype, subID int32
		meid         string
		want         [][]string
	}{
		{1, -1, "", [][]string{{"a:1", "b:1"}, {"c:1"}}},
		{1, 5, "", [][]string{{"a:1", "b:1"}, {"c:1"}}},
		{2, 7, "m3", [][]string{{"n:1"}}},
		{2, 7, "m4", nil},
		{2, 7, "", nil},
		{2, -1, "m3", nil},
	} {
		if diff := cmp.Diff(a.Lookup(l.mtype, l.subID, l.meid), l.want); diff != "" {
			t.Errorf("%+v: %s", l, diff)
		}
	}
	noFaults(t, a)
}

// An App leaves out itself and what is meant for others; a group it is alone in stays as an entry for nobody.
func TestLeavesItselfOut(t *testing.T) {
	a := started(t, Config{Name: "app0"})
	self, address := a.ID(), a.DataAddress()
	got, err := a.TextOf(table("t", "mse|1|-1|"+self+",x:1", "mse|2|-1|"+self, "mse|3,other:1|-1|x:1", "mse|4,"+address+"|-1|"+address+";x:1"))
	if err != nil {
		t.Fatal(err)
	}
	want := "newrt|start\nmse|1|-1|x:1\nmse|2|-1|\nmse|4|-1|x:1\nnewrt|end|3\nmeid_map|start\nmeid_map|end|0\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHistory(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{Keep: 4})
	nc := m.dial(a.ControlAddress())
	for _, text := range []string{
		table("dropped by Keep"), table("3"), block("updatert", "4", "mse|1|-1|a:1"), block("meid_map", "5", "mme_ar|o:1|m1"),
		strings.Replace(table("6", "mse|1|-1|a:1"), "end|1", "end|2", 1),
	} {
		m.push(nc, "", text)
		next(t, m.acks)
	}
	var got []string
	for _, e := range a.History() {
		got = append(got, e.Kind.String()+" "+e.ID+map[bool]string{true: " applied", false: " refused"}[e.Applied])
	}
	want := []string{"newrt 3 applied", "updatert 4 applied", "meid_map 5 applied", "newrt 6 refused"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if e, ok := LastAcked(a.History()); !ok || e.ID != "5" {
		t.Error(e)
	}
	if n := a.Stats().Events; n != 5 {
		t.Error(n, "events")
	}
}
