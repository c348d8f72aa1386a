package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/report"
	"floe/scripts/suite/schedule"
	"floe/scripts/suite/workload"
)

const (
	// linearizableTime is how long porcupine may take, beside a twentieth of
	// the run's time.
	linearizableTime = 8 * time.Second
	// backInService is how soon after the last heal each node has to take
	// changes again; 15 s, since the machine may be busy with other things.
	backInService = 15 * time.Second
)

// judge reads the histories of a run, writes the report beside them and prints
// the verdicts. The last line is the sum of it.
func judge(dir string, out io.Writer) error {
	f, err := loadFacts(dir)
	if err != nil {
		return fmt.Errorf("%s holds no run: %w", dir, err)
	}
	events, err := history.Lines[history.Event](filepath.Join(dir, historyFile))
	if err != nil {
		return err
	}
	ops := history.Pair(events)
	p := report.Page{Command: f.Command, Commit: f.Commit, Versions: f.Versions, Date: f.Date, Processors: f.Machine, Network: f.Network, Note: f.Note,
		Seed: f.Seed, Schedule: f.Schedule, LeaderChanges: f.LeaderChanges, Outcomes: report.Count(ops), Faults: f.Faults}
	log, err := loadLog(dir)
	if err != nil {
		return err
	}
	replayed := check.Replay(ops, f.Faults, log)
	if f.Workload.changes() {
		judgeChanges(&p, f, ops, dir)
		p.Lost = max(p.Lost, replayed.Lost) // both count those of topics
	}
	p.Verdicts = append(p.Verdicts, replayed.Log, replayed.Stale, check.Terms(ops, f.Faults, f.replaces()), check.Digest(ops))
	if slices.Contains(f.Nemesis, schedule.Damage) {
		p.Verdicts = append(p.Verdicts, check.Damaged(f.Faults))
	}
	if f.Workload.has("members") {
		p.Verdicts = append(p.Verdicts, check.Members(check.MembersRun{Ops: ops, Faults: f.Faults, Stay: nodeNames(f.Nodes),
			Churned: f.replaces(), Configurations: replayed.Configurations}))
	}
	if f.Workload.messages() {
		if err := judgeMessages(&p, f, ops, dir); err != nil {
			return err
		}
	}
	if f.Workload.has("events") {
		if err := judgeEvents(&p, f, dir); err != nil {
			return err
		}
	}
	if err := draw(&p, ops, events, dir); err != nil {
		return err
	}
	if err := p.Write(dir); err != nil {
		return err
	}
	fmt.Fprint(out, p.Text())
	fmt.Fprintf(out, "report in %s\n%s\n", shorten(dir), p.LastLine())
	if !p.Kept() {
		return errBroken
	}
	return nil
}

// draw adds the time line, and finds the pages of bad histories.
func draw(p *report.Page, ops []history.Op, events []history.Event, dir string) error {
	got, err := history.Lines[check.Got](filepath.Join(dir, gotFile))
	if err != nil {
		return err
	}
	p.Timeline = report.MakeTimeline(ops, events, got)
	pages, err := filepath.Glob(filepath.Join(dir, "history-*.html"))
	for _, page := range pages {
		p.Pictures = append(p.Pictures, filepath.Base(page))
	}
	return err
}

func judgeChanges(p *report.Page, f facts, ops []history.Op, dir string) {
	set := check.Set(ops)
	p.Operations, p.Acknowledged = check.Changes(ops)
	p.Lost = set.Lost
	p.Recovered = set.Recovered
	progress := check.MakeProgress(ops, f.Faults, f.Calm, nodeNames(f.Nodes), backInService)
	p.Progress = &progress
	p.Verdicts = append(p.Verdicts, set.Verdict, check.Register(ops, linearizableTime+f.Time/20, dir), progress.Verdict)
	if len(f.Majority) > 0 {
		p.Verdicts = append(p.Verdicts, check.Steady(ops, f.Steady, f.Majority))
	}
	p.Verdicts = append(p.Verdicts, check.NoQuorum(ops, f.Faults, nodeNames(f.Nodes), workload.Patience).Verdict)
	converged := check.Converge(ops, f.Faults, f.Calm, nodeNames(f.Nodes), check.ConvergeWithin)
	p.Converged = &converged
	p.Verdicts = append(p.Verdicts, check.OwnWrites(ops), converged.Verdict)
	p.Verdicts = append(p.Verdicts, check.Identity(ops, f.Workload.has("members") || f.replaces()))
}

func judgeMessages(p *report.Page, f facts, ops []history.Op, dir string) error {
	messages, err := history.Lines[check.Message](filepath.Join(dir, messageFile))
	if err != nil {
		return err
	}
	whole, right := check.Messages(check.MessageRun{Messages: messages, Ops: ops, Faults: f.Faults, Sinks: f.MEIDSinks})
	p.Verdicts = append(p.Verdicts, check.Tables(ops), whole, right, check.Apps(ops))
	return nil
}

func judgeEvents(p *report.Page, f facts, dir string) error {
	result, err := eventResult(f, dir)
	if err != nil {
		return err
	}
	p.Events = &result
	p.Verdicts = append(p.Verdicts, result.Verdicts...)
	if !f.Workload.changes() { // nothing else counts operations
		p.Operations, p.Acknowledged, p.Lost = result.Sent, result.Taken, result.LostInCalm
	}
	return nil
}

// eventResult reads the logs of events, which may still be growing, and checks
// them.
func eventResult(f facts, dir string) (check.EventResult, error) {
	sent, err := history.Lines[check.Sent](filepath.Join(dir, sentFile))
	if err != nil {
		return check.EventResult{}, err
	}
	got, err := history.Lines[check.Got](filepath.Join(dir, gotFile))
	if err != nil {
		return check.EventResult{}, err
	}
	return check.Events(check.EventRun{Links: workload.EventLinks, Subscribers: f.Subscribers, Sent: sent, Got: got, Faults: f.Faults, QuietFrom: f.QuietFrom}), nil
}

func nodeNames(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("n%d", i+1))
	}
	return out
}

// shorten makes a path relative where that is shorter.
func shorten(dir string) string {
	here, err := os.Getwd()
	if err != nil {
		return dir
	}
	if rel, err := filepath.Rel(here, dir); err == nil && len(rel) < len(dir) {
		return rel
	}
	return dir
}
