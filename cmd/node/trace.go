package main

import "context"

func traceCommands() []*command {
	return []*command{
		{name: "trace", short: "say what becomes of a message, and why",
			example: "floe trace message --mtype 12050 --subid 7"},
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
