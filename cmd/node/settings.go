package main

import (
	"context"

	"floe/transport/http/api"
)

func settingCommands() []*command {
	return []*command{
		{name: "settings", args: "[NAME VALUE]", min: 0, max: 2, prints: true, one: true, shell: true,
			short: "list what can be changed while the node at --addr runs, or change it",
			long: `List the settings that can be changed while a node runs, or change one of the node
at --addr: log-level (trace, debug, info, warn, error), queue-events, queue-bytes,
queue-policy. What is changed holds until the node stops.`,
			example: "floe settings\nfloe settings log-level debug",
			run:     runSettings},
	}
}

func runSettings(ctx context.Context, s *session, c *call) error {
	if len(c.args) == 1 {
		return usagef("`settings' takes a name and a value, or nothing")
	}
	if len(c.args) == 2 {
		set := api.Setting{Name: c.args[0], Value: c.args[1]}
		if err := s.client.Set(ctx, set); err != nil {
			return err
		}
		return s.print(set, func() { s.say("%s is %s until the node stops", set.Name, set.Value) })
	}
	all, err := s.client.Settings(ctx)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		for _, one := range all {
			s.say("%s %s", one.Name, one.Value)
		}
	})
}
