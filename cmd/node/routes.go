package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"floe/routing"
	"floe/transport/http/api"
)

// routesLimit is the largest route text a command takes, in bytes.
const routesLimit = 128 << 20

func routeCommands() []*command {
	return []*command{
		{name: "routes", shell: true, short: "show, check, load and look up routes of RMR messages",
			long: `Show, check, load and look up routes: the route table and MEID map of a group of
RMR applications, in the text form of the RMR library.`,
			example: "floe routes check routes.txt\nfloe routes load routes.txt\nfloe routes show"},
		{parent: "routes", shell: true, name: "show", min: 0, max: 0, prints: true, reads: true, slow: true,
			short:   "print table and map, as text that loads as it stands",
			long:    "Print table and map as text that loads as it stands. Equal routes give equal bytes, on every node.",
			example: "floe routes show > routes.txt",
			run:     runShowRoutes},
		{parent: "routes", shell: true, name: "check", args: "FILE|-", min: 1, max: 1, prints: true, slow: true,
			short:   "say all there is to say about a route text, and change nothing",
			long:    "Say all there is to say about a route text, and change nothing: errors, for which it would be refused, and warnings. Exits 1 on an error.",
			example: "floe routes check routes.txt",
			run:     runCheckRoutes},
		{parent: "routes", shell: true, name: "diff", args: "FILE|-", min: 1, max: 1, prints: true, reads: true, slow: true,
			short:   "print what loading a route text would change",
			example: "floe routes diff routes.txt",
			run:     runDiffRoutes},
		{parent: "routes", shell: true, name: "load", args: "FILE|-", min: 1, max: 1, prints: true, slow: true,
			short: "load a route text, whole or not at all",
			long: `Load a route text, whole or not at all. A whole table (newrt) takes the place of
the one before, a delta (updatert) and a map (meid_map) change what they name.
Warnings go to stderr.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, 0, math.MaxInt64), "if-version", "load only if the routes are at this version; 0: if nothing was ever loaded")
			},
			example: "floe routes load routes.txt\nfloe routes load --if-version 17 routes.txt",
			run:     runLoadRoutes},
		{parent: "routes", shell: true, name: "lookup", min: 0, max: 0, prints: true, reads: true,
			short:   "say where a message goes, and why",
			long:    "Say where a message goes, step by step, or why it goes nowhere. Exits 1 where it goes nowhere.",
			flags:   queryFlags,
			example: "floe routes lookup --mtype 12050 --subid 7\nfloe routes lookup --mtype 12040 --meid gnb_001_001_0000019b",
			run:     runLookup},
		{parent: "routes", shell: true, name: "apps", min: 0, max: 0, prints: true, reads: true,
			short: "list the programs that asked for a table, and what each of them has",
			long: `List the programs that asked any node for a table: name, address, the node that
serves it, version sent, version acknowledged, how long ago, and what went wrong
last. A program that is not listed never asked.`,
			example: "floe routes apps",
			run:     runApps},
		{parent: "routes", shell: true, name: "relay", args: "[on|off]", min: 0, max: 1, prints: true,
			short: "say whether messages go through floe, or switch it",
			long: `Have messages go through floe (on) or straight from program to program (off, as
at first): the tables that programs are given name floe's --rmr listeners, or the
endpoints. With --mtype only messages of that type are switched. Without on or off
it says what holds.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, math.MinInt32, math.MaxInt32), "mtype", "switch this message type only")
			},
			example: "floe routes relay on --mtype 12050\nfloe routes relay",
			run:     runRelay},
	}
}

func queryFlags(f *pflag.FlagSet) {
	f.Var(newNumber(0, math.MinInt32, math.MaxInt32), "mtype", "message type (needed)")
	f.Var(newNumber(int64(routing.AnySubID), math.MinInt32, math.MaxInt32), "subid", "subscription id, -1 for none")
	f.Var(newText(""), "meid", "the message's `MEID`")
	f.Var(newText(""), "sender", "the application that sends it, `HOST:PORT` as floe routes apps shows it")
}

func runShowRoutes(ctx context.Context, s *session, _ *call) error {
	text, err := s.client.Routes(ctx)
	if err != nil {
		return err
	}
	shown := struct {
		Text string `json:"text"`
	}{string(text)}
	return s.print(shown, func() {
		s.none(bytes.Count(text, []byte("\nmse|"))+bytes.Count(text, []byte("\nmme_ar|")), "no routes yet; floe routes load FILE loads some")
		_, _ = s.out.Write(text)
	})
}

func runCheckRoutes(ctx context.Context, s *session, c *call) error {
	text, err := s.file(c.args[0], routesLimit)
	if err != nil {
		return err
	}
	return s.checkRoutes(ctx, text)
}

func (s *session) checkRoutes(ctx context.Context, text string) error {
	checked, err := s.client.CheckRoutes(ctx, text)
	if err != nil {
		return err
	}
	err = s.print(checked, func() {
		for _, f := range checked.Findings {
			s.say("%v", f)
		}
		if checked.OK {
			s.say("the text is good: %s, %s", api.Plural(checked.Routes, "route"), api.Plural(checked.MEIDs, "MEID"))
		} else {
			s.say("the text would be refused")
		}
	})
	if err == nil && !checked.OK {
		return &exitError{api.ExitRefused}
	}
	return err
}

func runDiffRoutes(ctx context.Context, s *session, c *call) error {
	text, err := s.file(c.args[0], routesLimit)
	if err != nil {
		return err
	}
	return s.diffRoutes(ctx, text)
}

func (s *session) diffRoutes(ctx context.Context, text string) error {
	diff, err := s.client.DiffRoutes(ctx, text)
	if err != nil {
		return err
	}
	return s.print(diff, func() {
		for _, r := range diff.Removed {
			s.say("- %s", r)
		}
		for _, r := range diff.Added {
			s.say("+ %s", r)
		}
		if len(diff.Removed)+len(diff.Added) == 0 {
			s.say("no change")
		}
	})
}

func runLoadRoutes(ctx context.Context, s *session, c *call) error {
	text, err := s.file(c.args[0], routesLimit)
	if err != nil {
		return err
	}
	var at *uint64
	if c.flags.Changed("if-version") {
		version, err := strconv.ParseUint(c.text("if-version"), 10, 64)
		if err != nil {
			return usagef("--if-version: %v", err)
		}
		at = &version
	}
	return s.loadRoutes(ctx, text, at)
}

// loadRoutes loads a text, if at is not nil only into routes of that version.
func (s *session) loadRoutes(ctx context.Context, text string, at *uint64) error {
	loaded, err := s.client.LoadRoutes(ctx, text, at)
	if err != nil {
		return err
	}
	s.meter.stop()
	for _, f := range loaded.Findings {
		fmt.Fprintln(s.err, f)
	}
	return s.print(loaded, func() {
		word := "loaded"
		if !loaded.Changed {
			word = "no change"
		}
		s.say("%s: %s, %s, version %d", word, api.Plural(loaded.Routes, "route"), api.Plural(loaded.MEIDs, "MEID"), loaded.Version)
	})
}

func runLookup(ctx context.Context, s *session, c *call) error {
	return s.find(ctx, c, "lookup", s.client.LookupRoute)
}

// find prints where a message goes, and fails where that is nowhere.
func (s *session) find(ctx context.Context, c *call, command string, ask func(context.Context, api.RouteQuery) (api.RouteFound, error)) error {
	if err := c.needFlags(command, "mtype"); err != nil {
		return err
	}
	found, err := ask(ctx, api.RouteQuery{
		MType: c.int32("mtype"), SubID: c.int32("subid"), MEID: c.text("meid"), Sender: c.text("sender"),
	})
	if err != nil {
		return err
	}
	err = s.print(found, func() {
		for _, line := range found.Why {
			s.say("%s", line)
		}
	})
	if err == nil && found.Reason != "" {
		return fmt.Errorf("the message goes nowhere: %s", found.Reason)
	}
	return err
}

func runApps(ctx context.Context, s *session, _ *call) error {
	apps, err := s.client.Apps(ctx)
	if err != nil {
		return err
	}
	return s.print(apps, func() {
		if s.none(len(apps), "no RMR application asked for a table yet: RMR_RTG_SVC has to name the rtg listener of a node, which floe status shows") {
			return
		}
		w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tADDRESS\tNODE\tSENT\tACKED\tAGE\tERROR")
		for _, a := range apps {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.1fs\t%s\n", a.Name, a.Address, a.Node, a.VersionSent, a.VersionAcked, a.AgeSeconds, a.Error)
		}
		_ = w.Flush() // stdout is gone if this fails
	})
}

func runRelay(ctx context.Context, s *session, c *call) error {
	relay, err := s.switchRelay(ctx, c)
	if err != nil {
		return err
	}
	return s.print(relay, func() {
		word := map[bool]string{true: "on", false: "off"}
		if s.say("the relay is %s for all message types", word[relay.All]); len(relay.Except) > 0 {
			s.say("but %s for %s", word[!relay.All], strings.Trim(strings.ReplaceAll(fmt.Sprint(relay.Except), " ", ", "), "[]"))
		}
	})
}

func (s *session) switchRelay(ctx context.Context, c *call) (api.Relay, error) {
	if len(c.args) == 0 {
		if c.flags.Changed("mtype") {
			return api.Relay{}, usagef("`relay --mtype' needs on or off")
		}
		return s.client.Relay(ctx)
	}
	if c.args[0] != "on" && c.args[0] != "off" {
		return api.Relay{}, usagef("`relay' takes on or off, not %q", c.args[0])
	}
	ask := api.SetRelay{On: c.args[0] == "on"}
	if c.flags.Changed("mtype") {
		mtype := c.int32("mtype")
		ask.MType = &mtype
	}
	return s.client.SetRelay(ctx, ask)
}

// int32 returns a flag's number, which was checked when it was set.
func (c *call) int32(name string) int32 {
	n, _ := strconv.ParseInt(c.text(name), 10, 32)
	return int32(n)
}
