package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/fsm"
	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/replay"
	"floe/scripts/suite/schedule"
)

// writeRun makes the files of a run in which three nodes each had a topic
// created and one event was sent to a subscriber of ev-A.
func writeRun(t *testing.T, finalTopics map[string]uint64, deliveries int) string {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *history.Log {
		log, err := history.Create(filepath.Join(dir, name), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		return log
	}
	log, sent, got := open(historyFile), open(sentFile), open(gotFile)
	for i, node := range []string{"n1", "n2", "n3"} {
		log.Invoke("c1", node, "create", "t-"+node, nil).OK(&history.Value{ID: uint64(i + 1)})
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		log.Invoke("final", node, "final", "", nil).OK(&history.Value{Topics: finalTopics, Text: check.Sum(nil, nil)})
		log.Invoke("watch", node, "digest", "", nil).OK(&history.Value{Index: 9, Text: "d"})
	}
	sent.Write(check.Sent{Publisher: "p", Seq: 1, Topic: "ev-A", Cost: 3, Node: "n1", Outcome: history.OK, Start: 5, End: 6})
	for range deliveries {
		got.Write(check.Got{Subscriber: "s", Topic: "ev-A", Origin: "ev-A", Publisher: "p", Seq: 1, Cost: 3, Context: "3"})
	}
	f := facts{options: options{Workload: workloads{"graph", "events"}, Nodes: 3, Seed: 5, Time: time.Minute, Nemesis: schedule.Kinds}, QuietFrom: 1, Calm: check.Span{Start: 1},
		Subscribers: []check.Subscriber{{Name: "s", Topic: "ev-A", Node: "n2", Ordered: true}},
		Faults:      []check.Fault{{Kind: "kill", Nodes: []string{"n1"}, Start: 1, End: 2}}}
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	writeLog(t, dir)
	return dir
}

// writeLog writes the log of such a run.
func writeLog(t *testing.T, dir string) {
	t.Helper()
	log := replay.Log{Node: "n1", Applied: 4}
	for i, op := range []fsm.Op{fsm.Barrier{}, fsm.CreateTopic{Name: "t-n1"}, fsm.CreateTopic{Name: "t-n2"}, fsm.CreateTopic{Name: "t-n3"}} {
		data, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		log.Entries = append(log.Entries, replay.Entry{Index: uint64(i + 1), Term: 1, Data: data})
	}
	b, err := json.Marshal(log)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, logFile), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var allThere = map[string]uint64{"t-n1": 1, "t-n2": 2, "t-n3": 3}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		topics     map[string]uint64
		deliveries int
		broken     string // the promise named as broken
		last       string
	}{
		"kept":        {allThere, 1, "", "3 operations, 3 acknowledged, 0 lost"},
		"lost change": {map[string]uint64{"t-n1": 1, "t-n2": 2}, 1, "C1", "3 operations, 3 acknowledged, 1 lost"},
		"lost event":  {allThere, 0, "E2", "3 operations, 3 acknowledged, 0 lost"},
		"duplicate":   {allThere, 2, "E1", "3 operations, 3 acknowledged, 0 lost"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeRun(t, c.topics, c.deliveries)
			var out strings.Builder
			err := judge(dir, &out)
			if errors.Is(err, errBroken) != (c.broken != "") {
				t.Errorf("error %v, broken promise %q", err, c.broken)
			}
			if c.broken != "" && !strings.Contains(out.String(), "BROKEN  "+c.broken) {
				t.Errorf("%s is not named:\n%s", c.broken, out.String())
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != c.last {
				t.Errorf("last line %q, want %q", got, c.last)
			}
			checkPage(t, dir, c.broken, c.last)
		})
	}
}

func checkPage(t *testing.T, dir, broken, last string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{last, "Schedule of seed 5", "kill n1", "<td>create</td><td>3</td><td>0</td><td>0</td><td>0</td>", "<svg", "every promise was kept"} {
		if want == "every promise was kept" && broken != "" {
			want = "a promise was broken"
		}
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "report.json")); err != nil {
		t.Error(err)
	}
}

func TestJudgeOfNoRun(t *testing.T) {
	if err := judge(t.TempDir(), &strings.Builder{}); err == nil || errors.Is(err, errBroken) {
		t.Errorf("an empty directory was judged: %v", err)
	}
}
