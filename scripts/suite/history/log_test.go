package history_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/history"
)

// A killed run leaves operations without an end and a torn last line; both
// are read as what they are.
func TestHistoryOfAKilledRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	log, err := history.Create(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	log.Invoke("c1", "n1", "create", "a", nil).OK(&history.Value{ID: 7})
	log.Invoke("c1", "n2", "create", "b", nil).Fail("no quorum")
	log.Note("phase", "", "liveness", nil)
	log.Invoke("c1", "n3", "create", "c", nil).Info("connection lost")
	log.Invoke("c1", "n3", "link", "a>b", &history.Value{Cost: -3})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	tear(t, path, `{"ns":12,"p":"c`)

	events, err := history.Lines[history.Event](path)
	if err != nil {
		t.Fatal(err)
	}
	type brief struct {
		Key     string
		Outcome history.Type
		ID      uint64
		Cost    int32
		Open    bool
	}
	var got []brief
	for _, o := range history.Pair(events) {
		got = append(got, brief{o.Key, o.Outcome, o.Out.ID, o.In.Cost, o.End == history.Never})
	}
	want := []brief{
		{"a", history.OK, 7, 0, false},
		{"b", history.Fail, 0, 0, false},
		{"c", history.Info, 0, 0, true},
		{"a>b", history.Info, 0, -3, true},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("operations (-got +want):\n%s", d)
	}
}

func TestLinesNamesTheBadLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	tear(t, path, "{}\nnonsense\n")
	if _, err := history.Lines[history.Event](path); err == nil {
		t.Error("nonsense was read")
	}
}

func tear(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
