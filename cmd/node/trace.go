package main

import (
	"context"
	"math"

	"github.com/spf13/pflag"
)

func traceCommands() []*command {
	return []*command{
		{name: "trace", short: "say what becomes of an event or a message, and why",
			example: "floe trace topic A --cost 3\nfloe trace message --mtype 12050 --subid 7"},
		{parent: "trace", name: "topic", args: "TOPIC", min: 1, max: 1, prints: true, reads: true, topic: firstArg,
			short: "say who would get an event, and why",
			long: `Say step by step what would become of an event published on a topic at the node
that is asked: its cost, its subscribers, which links let it pass and which hold it,
native subscribers by node, and what was dropped so far, with reasons.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, math.MinInt32, math.MaxInt32), "cost", "the event's cost")
				f.Var(&list{kind: "pair"}, "context", "`KEY=VALUE` of the event's context; may be repeated")
			},
			example: "floe trace topic A\nfloe trace topic A --cost 3",
			run:     runTraceTopic},
		{parent: "trace", name: "message", min: 0, max: 0, prints: true, reads: true,
			short: "say what becomes of an RMR message, and why",
			long: `Say step by step what becomes of an RMR message: the route, the owner of its MEID
(with near spellings of an unknown one), whether programs send it through floe,
which endpoints are passed over, whether the sender has this table. Exits 1 where
the message goes nowhere.`,
			flags:   queryFlags,
			example: "floe trace message --mtype 12040 --meid gnb_001_001_0000019b --sender app1:4560",
			run: func(ctx context.Context, s *session, c *call) error {
				return s.find(ctx, c, "message", s.client.TraceMessage)
			}},
	}
}

func runTraceTopic(ctx context.Context, s *session, c *call) error {
	values, err := contextOf(c)
	if err != nil {
		return err
	}
	trace, err := s.client.TraceTopic(ctx, c.args[0], values)
	if err != nil {
		return err
	}
	return s.print(trace, func() {
		for _, line := range trace.Why {
			s.say("%s", line)
		}
	})
}
