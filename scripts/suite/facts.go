package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/lab"
	"floe/scripts/suite/replay"
	"floe/scripts/suite/schedule"
)

// Files of a report.
const (
	historyFile = "history.jsonl"
	sentFile    = "published.jsonl"
	gotFile     = "delivered.jsonl"
	messageFile = "messages.jsonl"
	factsFile   = "run.json"
	logFile     = "committed.json"
)

// errApart says that the nodes are not at one index.
var errApart = errors.New("the nodes are not at one index")

// facts is what has to be known of a run, beside its histories, to judge it.
type facts struct {
	options
	Command  string            `json:"command"`
	Commit   string            `json:"commit"`
	Versions map[string]string `json:"versions"`
	Date     time.Time         `json:"date"`
	// Machine is the number of processors; Network says how nodes were kept apart.
	Machine  int             `json:"processors"`
	Network  string          `json:"network"`
	Note     string          `json:"note,omitempty"`
	Schedule []schedule.Step `json:"schedule"`

	Subscribers []check.Subscriber `json:"subscribers"`
	Faults      []check.Fault      `json:"faults"`
	// MEIDSinks maps endpoints that own MEIDs to the nodes they are beside.
	MEIDSinks map[string]string `json:"meid_sinks,omitempty"`
	Calm      check.Span        `json:"calm"`
	// Steady is when a fault stayed and Majority had to serve.
	Steady        check.Span `json:"steady"`
	Majority      []string   `json:"majority,omitempty"`
	QuietFrom     int64      `json:"quiet_from"`
	LeaderChanges int        `json:"leader_changes"`
}

func newFacts(o options, l *lab.Lab) facts {
	f := facts{options: o, Command: o.command(), Date: time.Now().UTC(), Machine: runtime.NumCPU(), Schedule: o.schedule(),
		Network: "one network namespace a node", Commit: commit(),
		Versions: map[string]string{"floe": output(o.Binary, "version"), "go": runtime.Version(), "icestormadmin": output("icestormadmin", "--version")}}
	if !l.Namespaces {
		f.Network = "loopback addresses"
	}
	return f
}

// commit is the tree's commit, marked where the tree differs from it.
func commit() string {
	id := output("git", "rev-parse", "--short=12", "HEAD")
	if output("git", "status", "--porcelain", "--untracked-files=no") != "unknown" {
		id += " with changes"
	}
	return id
}

func (f facts) save(dir string) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, factsFile), b, 0o644)
}

// replaces says whether members may have gone, or been replaced by empty ones.
func (f facts) replaces() bool {
	return slices.Contains(f.Nemesis, schedule.Churn) || slices.Contains(f.Nemesis, schedule.Damage)
}

// saveLog keeps what the nodes, which have ended, committed.
func (r *run) saveLog() error {
	var places []replay.Place
	for _, n := range r.lab.Nodes[:r.options.Nodes] {
		places = append(places, replay.Place{Node: n.Name, Dir: n.Data(), Applied: r.watch.applied(n.Name)})
	}
	log, err := replay.Read(places)
	if err != nil {
		return err
	}
	b, err := json.Marshal(log)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.options.Report, logFile), b, 0o644)
}

func loadLog(dir string) (*replay.Log, error) {
	b, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil {
		return nil, err
	}
	l := new(replay.Log)
	return l, json.Unmarshal(b, l)
}

func loadFacts(dir string) (facts, error) {
	var f facts
	b, err := os.ReadFile(filepath.Join(dir, factsFile))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(b, &f)
}
