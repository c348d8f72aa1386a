package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

func historyCommands() []*command {
	return []*command{
		{name: "watch", min: 0, max: 0, prints: true, reads: true, shell: true,
			short: "print every change as it comes: topics, links, routes, MEIDs, members",
			long: `Print every change of topics, links, subscriptions, routes, MEIDs and members as it
comes: index, time, who asked, what. Each comes once and in order, also where the
node it comes from is lost and --addr names others. --from goes on after an index
that was seen. Changes that are forgotten are named as a gap, on stderr or with --json
as a line {"gap":...}: the state is then to be read anew. In the shell it needs --count.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, 0, math.MaxInt64), "from", "begin with what came after this `INDEX`; else with what is to come")
				f.Var(newNumber(0, 0, math.MaxInt32), "count", "end after so many changes; 0: never")
			},
			example: "floe watch\nfloe watch --from 1200 --json",
			run:     runWatch},
		{name: "history", min: 0, max: 0, prints: true, reads: true, shell: true,
			short: "list the latest changes: who, when, what",
			long: `List the latest changes, the newest at the end: index, time, who asked, what. The
cluster remembers 10 000 of them, or 8 MiB.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newText(""), "topic", "only changes that have to do with this `TOPIC`")
				f.Var(newNumber(100, 1, math.MaxInt32), "limit", "list so many at most")
				f.Bool("all", false, "also what nodes did by themselves")
			},
			example: "floe history --topic A\nfloe history --limit 10 --json",
			run:     runHistory},
		{name: "revert", min: 0, max: 0, prints: true, slow: true,
			short: "bring topics, links and routes back to how they were",
			long: `Bring topics, links, costs, loaded routes and MEIDs back to how they were at an
index that floe history shows: all at one index, and refused where anything changed
since the difference was shown. Subscriptions stay; those of a topic that comes
back come with it, and the topic has a new id. On a terminal it asks first.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, 0, math.MaxInt64), "to", "the `INDEX` to go back to (needed)")
				f.Bool("diff", false, "change nothing; print what would change")
				f.Bool("yes", false, "do not ask")
			},
			example: "floe revert --to 1200 --diff\nfloe revert --to 1200 --yes",
			run:     runRevert},
	}
}

// number returns a flag's number, which was checked when it was set.
func (c *call) number(name string) int64 {
	n, _ := strconv.ParseInt(c.text(name), 10, 64)
	return n
}

func runHistory(ctx context.Context, s *session, c *call) error {
	var topic *string
	if c.flags.Changed("topic") {
		name := c.text("topic")
		topic = &name
	}
	h, err := s.client.History(ctx, topic, int(c.number("limit")), c.bool("all"))
	if err != nil {
		return err
	}
	return s.print(h, func() {
		s.none(len(h.Changes), "no changes yet; with --all those that nodes made by themselves are listed, too")
		w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
		for i := range h.Changes {
			fmt.Fprintln(w, recordLine(&h.Changes[i]))
		}
		_ = w.Flush() // stdout is gone if this fails
	})
}

// recordLine is a change as one line with tabs.
func recordLine(r *api.Record) string {
	at, who := "-", r.From
	if !r.Time.IsZero() {
		at = r.Time.Local().Format(time.DateTime)
	}
	if who == "" {
		who = "-"
	}
	text := r.Text
	if r.Cut {
		text += " (too large to be kept whole)"
	}
	return fmt.Sprintf("%d\t%s\t%s\t%s", r.Index, at, who, text)
}

func runWatch(ctx context.Context, s *session, c *call) error {
	limit := c.number("count")
	if s.shell && limit == 0 {
		return usagef("in the shell `watch' needs --count, as it would never end")
	}
	var from *uint64
	if c.flags.Changed("from") {
		index := uint64(c.number("from"))
		from = &index
	}
	watch := s.client.Watch(ctx, from)
	defer watch.Close()
	begun := false
	for n := int64(0); limit == 0 || n < limit; {
		ev, err := watch.Next()
		switch {
		case ctx.Err() != nil:
			return nil // stopped by the user
		case err != nil:
			return err
		case ev.Gap != nil:
			if err := s.printGap(ev.Gap); err != nil {
				return err
			}
		case ev.Change != nil:
			n++
			if err := s.printChange(ev.Change); err != nil {
				return err
			}
		case !begun:
			begun = true
			fmt.Fprintf(s.err, "watching from index %d\n", ev.Index)
		}
	}
	return nil
}

// printGap tells a person on stderr, and a program where it reads.
func (s *session) printGap(g *api.Gap) error {
	if s.json {
		return s.printLine(map[string]*api.Gap{"gap": g})
	}
	fmt.Fprintf(s.err, "gap: %s\n", g.Message)
	return nil
}

func (s *session) printChange(r *api.Record) error {
	if s.json {
		return s.printLine(r)
	}
	if _, err := fmt.Fprintln(s.out, recordLine(r)); err != nil {
		return err
	}
	if len(r.Removed)+len(r.Added) > 0 {
		s.sayRoutes(r.Removed, r.Added, "\t")
	}
	return nil
}

// sayRoutes prints records that go and come.
func (s *session) sayRoutes(removed, added []string, indent string) {
	for _, r := range removed {
		s.say("%s- %s", indent, r)
	}
	for _, r := range added {
		s.say("%s+ %s", indent, r)
	}
}

func runRevert(ctx context.Context, s *session, c *call) error {
	if err := c.needFlags("revert", "to"); err != nil {
		return err
	}
	ask := api.Revert{To: uint64(c.number("to")), Check: true}
	diff, err := s.client.Revert(ctx, ask)
	if err != nil {
		return err
	}
	nothing := len(diff.Graph)+len(diff.Removed)+len(diff.Added) == 0
	if !s.json {
		s.sayReverted(diff, nothing)
	}
	if c.bool("diff") || nothing {
		return s.print(diff, func() {})
	}
	if !c.bool("yes") && !s.agrees(fmt.Sprintf("bring this back to index %d?", ask.To)) {
		return errors.New("nothing was changed; --yes does it without a question")
	}
	ask.Check, ask.Seen = false, diff.Seen
	done, err := s.client.Revert(ctx, ask)
	if err != nil {
		return err
	}
	return s.print(done, func() { s.say("back to index %d, at index %d", done.To, done.Index) })
}

func (s *session) sayReverted(r api.Reverted, nothing bool) {
	if nothing {
		s.say("no change")
	}
	for _, g := range r.Graph {
		s.say("%s", changeText(g))
	}
	s.sayRoutes(r.Removed, r.Added, "")
}

// agrees asks a person. Nobody is asked where there is no terminal.
func (s *session) agrees(question string) bool {
	if !isTerminal(s.in) {
		return false
	}
	fmt.Fprintf(s.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(s.in).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return err == nil && (answer == "y" || answer == "yes")
}

// showsTerminal tells whether what is written is seen on a terminal.
func showsTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
