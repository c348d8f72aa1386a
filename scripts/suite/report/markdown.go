package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/check"
)

// Markdown is the page for people.
func (p *Page) Markdown() string {
	var b strings.Builder
	p.head(&b)
	p.verdicts(&b)
	p.outcomes(&b)
	p.recovery(&b)
	p.events(&b)
	p.schedule(&b)
	return b.String()
}

func (p *Page) head(b *strings.Builder) {
	word := "every promise was kept"
	if !p.Kept() {
		word = "A PROMISE WAS BROKEN"
	}
	fmt.Fprintf(b, "# Failure run: %s\n\n%s.\n\n", word, p.LastLine())
	fmt.Fprintf(b, "    %s\n\n", p.Command)
	fmt.Fprintf(b, "Commit %s, %s, %d processors, %s.", p.Commit, p.Date.Format("2006-01-02 15:04 MST"), p.Processors, p.Network)
	if p.Note != "" {
		fmt.Fprintf(b, " %s.", p.Note)
	}
	b.WriteString("\n\n")
	for _, name := range slices.Sorted(maps.Keys(p.Versions)) {
		fmt.Fprintf(b, "* %s: %s\n", name, p.Versions[name])
	}
}

func (p *Page) verdicts(b *strings.Builder) {
	b.WriteString("\n| promise | verdict | looked at |\n| --- | --- | --- |\n")
	for _, v := range p.Verdicts {
		word := "kept"
		if !v.Kept {
			word = fmt.Sprintf("**broken**, %d times", v.Total)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", v.Promise, word, v.Checked)
	}
	for _, v := range p.Verdicts {
		if !v.Kept {
			fmt.Fprintf(b, "\n```\n%s\n```\n", v)
		}
	}
}

func (p *Page) outcomes(b *strings.Builder) {
	b.WriteString("\n| operation | ok | refused | failed | unknown |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range p.Outcomes {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", o.Func, o.OK, o.Refused, o.Fail, o.Info)
	}
	fmt.Fprintf(b, "\nChanges of unknown outcome that took effect: %d. Leader changes: %d.\n", p.Recovered, p.LeaderChanges)
}

func (p *Page) recovery(b *strings.Builder) {
	if p.Progress == nil {
		return
	}
	fmt.Fprintf(b, "\nSeconds with an acknowledged change among those in which one was asked for: %.1f %%.\n", 100*p.Progress.Availability)
	b.WriteString("\n| fault | times | no change acknowledged for, median | at most | first change after its end, median | at most |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, kind := range slices.Sorted(maps.Keys(p.Progress.Gap)) {
		gap, recovery := p.Progress.Gap[kind], p.Progress.Recovery[kind]
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s |\n", kind, gap.Count, seconds(gap.P50), seconds(gap.Max), seconds(recovery.P50), seconds(recovery.Max))
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func (p *Page) events(b *strings.Builder) {
	if p.Events == nil {
		return
	}
	e := p.Events
	fmt.Fprintf(b, "\nEvents: %d sent, %d surely taken by a node, %d deliveries of %d due.\n", e.Sent, e.Taken, e.Got, e.Expected)
	b.WriteString("\n| delivery of events sent | count | median | at most |\n| --- | --- | --- | --- |\n")
	for _, phase := range slices.Sorted(maps.Keys(e.Delay)) {
		d := e.Delay[phase]
		fmt.Fprintf(b, "| %s | %d | %.1f ms | %s |\n", phase, d.Count, float64(d.P50.Microseconds())/1000, seconds(d.Max))
	}
	b.WriteString("\n| near a fault of kind | deliveries lost |\n| --- | --- |\n")
	for _, kind := range slices.Sorted(maps.Keys(e.Lost)) {
		fmt.Fprintf(b, "| %s | %d |\n", kind, e.Lost[kind])
	}
}

func (p *Page) schedule(b *strings.Builder) {
	fmt.Fprintf(b, "\nSchedule of seed %d, from when the cluster was up:\n\n```\n", p.Seed)
	for _, s := range p.Schedule {
		fmt.Fprintln(b, s)
	}
	b.WriteString("```\n\nFaults as they came, in seconds of the run:\n\n```\n")
	for _, f := range p.Faults {
		fmt.Fprintln(b, faultLine(f))
	}
	b.WriteString("```\n")
}

func faultLine(f check.Fault) string {
	s := func(ns int64) float64 { return time.Duration(ns).Seconds() }
	return fmt.Sprintf("%7.2f to %7.2f  %s %s", s(f.Start), s(f.End), f.Kind, strings.Join(f.Nodes, ", "))
}
