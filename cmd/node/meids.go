package main

import (
	"context"

	"floe/transport/http/api"
)

func meidCommands() []*command {
	return []*command{
		{name: "meid", shell: true, short: "list, set and delete MEIDs, the radio nodes' names in RMR messages",
			example: "floe meid set 10.0.2.1:38000 gnb_001_001_0000019b\nfloe meid owner gnb_001_001_0000019b"},
		{parent: "meid", shell: true, name: "list", min: 0, max: 0, prints: true, reads: true, slow: true,
			short:   "list the MEIDs with their owners, sorted",
			example: "floe meid list",
			run:     runListMEIDs},
		{parent: "meid", shell: true, name: "owner", args: "MEID", meid: firstArg, min: 1, max: 1, prints: true, reads: true,
			short:   "print who owns an MEID",
			long:    "Print who owns an MEID. Exits 1 where nobody does, and names those that are spelled almost alike.",
			example: "floe meid owner gnb_001_001_0000019b",
			run:     runOwner},
		{parent: "meid", shell: true, name: "set", args: "ENDPOINT MEID...", meid: laterArg, min: 2, max: -1, prints: true,
			short:   "give MEIDs to an owner",
			long:    "Give MEIDs to an owner, HOST:PORT. An MEID has one owner, the latest.",
			example: "floe meid set 10.0.2.1:38000 gnb_001_001_0000019b",
			run:     runSetMEIDs},
		{parent: "meid", shell: true, name: "del", args: "MEID...", meid: everyArg, min: 1, max: -1, prints: true,
			short:   "delete MEIDs",
			long:    "Delete MEIDs. Those that are not there are passed; the answer says how many were.",
			example: "floe meid del gnb_001_001_0000019b",
			run:     runDeleteMEIDs},
	}
}

func runListMEIDs(ctx context.Context, s *session, _ *call) error {
	all, err := s.client.MEIDs(ctx)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		s.none(len(all), "no MEIDs yet; floe meid set ENDPOINT MEID gives one to its owner")
		for _, m := range all {
			s.say("%s %s", m.MEID, m.Owner)
		}
	})
}

func runOwner(ctx context.Context, s *session, c *call) error {
	m, err := s.client.MEID(ctx, c.args[0])
	if err != nil {
		return err
	}
	return s.print(m, func() { s.say("%s %s", m.MEID, m.Owner) })
}

func runSetMEIDs(ctx context.Context, s *session, c *call) error {
	changed, err := s.client.SetMEIDs(ctx, c.args[0], c.args[1:])
	if err != nil {
		return err
	}
	return s.printChanged(changed, "set")
}

func runDeleteMEIDs(ctx context.Context, s *session, c *call) error {
	changed, err := s.client.DeleteMEIDs(ctx, c.args)
	if err != nil {
		return err
	}
	return s.printChanged(changed, "deleted")
}

func (s *session) printChanged(m api.MEIDsChanged, what string) error {
	return s.print(m, func() { s.say("%s %s, version %d", api.Plural(m.Changed, "MEID"), what, m.Version) })
}
