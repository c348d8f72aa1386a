package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
	"floe/transport/http/client"
)

// payloadLimit is the most floe pub reads, in bytes.
const payloadLimit = 16 << 20

func eventCommands() []*command {
	return []*command{
		{name: "pub", args: "TOPIC [DATA|-]", min: 1, max: 2, topic: firstArg, shell: true,
			short: "publish an event",
			long: `Publish an event. DATA (or, for -, what stdin holds) reaches Ice subscribers as
one sequence<byte>; with --ice-string, as one string. Without DATA it is empty.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, math.MinInt32, math.MaxInt32), "cost", "the event's cost; links with a lower cost do not carry it")
				f.Var(&list{kind: "pair"}, "context", "`KEY=VALUE` of the event's context; may be repeated")
				f.Var(newText("message"), "op", "the operation's `NAME`")
				f.Bool("ice-string", false, "send DATA as one string")
			},
			example: "floe pub A hello --cost 2\ndate | floe pub A -",
			run:     runPub},
		{name: "sub", args: "TOPIC...", min: 1, max: -1, topic: everyArg, prints: true, shell: true,
			short: "print the events of topics as they come",
			long: `Print the events of topics as they come: topic, operation, cost, context and
payload, with a tab between. How many events were missed goes to stderr. With
--json each event is one line. Where the node they come from is lost and --addr
names others, one of those goes on, and stderr says so: what was published
meanwhile is missing. In the shell it needs --count.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, 0, math.MaxInt32), "count", "end after so many events; 0: never")
			},
			example: "floe sub A B --count 10\nfloe sub A --addr 10.0.0.1:7480,10.0.0.2:7480",
			run:     runSub},
	}
}

func runPub(ctx context.Context, s *session, c *call) error {
	p := api.Publish{Topic: c.args[0], Operation: c.text("op"), AsString: c.bool("ice-string")}
	var err error
	if p.Context, err = contextOf(c); err != nil {
		return err
	}
	if len(c.args) == 2 {
		if p.Data, err = s.payload(c.args[1]); err != nil {
			return err
		}
	}
	return s.client.Publish(ctx, p)
}

// contextOf puts --context and --cost together.
func contextOf(c *call) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range c.list("context") {
		key, v, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--context %q is not KEY=VALUE", pair)
		}
		out[key] = v
	}
	if !c.flags.Changed("cost") {
		return out, nil
	}
	if _, twice := out["cost"]; twice {
		return nil, usagef("--cost and --context cost=... say the same thing twice")
	}
	out["cost"] = c.text("cost")
	return out, nil
}

func (s *session) payload(arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	if s.shell {
		return nil, errShellInput
	}
	b, err := io.ReadAll(io.LimitReader(s.in, payloadLimit+1))
	if err == nil && len(b) > payloadLimit {
		err = fmt.Errorf("more than %d bytes on stdin", payloadLimit)
	}
	return b, err
}

func runSub(ctx context.Context, s *session, c *call) error {
	limit, _ := strconv.Atoi(c.text("count")) // checked when it was set
	if s.shell && limit == 0 {
		return usagef("in the shell `sub' needs --count, as it would never end")
	}
	stream, err := s.client.Subscribe(ctx, c.args)
	if err != nil {
		return err
	}
	defer stream.Close()
	fmt.Fprintf(s.err, "subscribed to %s\n", strings.Join(c.args, ", "))
	return s.printEvents(ctx, stream, limit)
}

func (s *session) printEvents(ctx context.Context, stream *client.Stream, limit int) error {
	var missed uint64
	defer func() {
		if missed > 0 {
			fmt.Fprintf(s.err, "missed %s in all\n", api.Plural(int(missed), "event"))
		}
	}()
	for n := 0; limit == 0 || n < limit; {
		ev, err := stream.Next()
		if ctx.Err() != nil {
			return nil // stopped by the user
		}
		if err != nil {
			return err
		}
		if ev.Missed > 0 {
			missed += ev.Missed
			fmt.Fprintf(s.err, "missed %s\n", api.Plural(int(ev.Missed), "event"))
		}
		if ev.Gap != "" {
			fmt.Fprintf(s.err, "events may be missing: %s\n", ev.Gap)
		}
		if ev.Received != nil {
			n++
			if err := s.printEvent(ev.Received); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) printEvent(ev *api.Received) error {
	if s.json {
		return s.printLine(ev)
	}
	_, err := fmt.Fprintf(s.out, "%s\t%s\t%d\t%s\t%s\n", ev.Topic, ev.Operation, ev.Cost, contextText(ev.Context), payloadText(ev))
	return err
}

// payloadText is an event's payload as one line.
func payloadText(ev *api.Received) string {
	if ev.Encapsulation {
		return fmt.Sprintf("encapsulation:%x", ev.Data)
	}
	return lineText(ev.Data)
}

// lineText is bytes as one line: text as it is, else hexadecimal.
func lineText(b []byte) string {
	if !utf8.Valid(b) || strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\t' }) {
		return fmt.Sprintf("hex:%x", b)
	}
	return string(b)
}
