package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

func linkCommands() []*command {
	return []*command{
		{name: "link", args: "FROM TO [COST]", min: 2, max: 3, topic: twoArgs, shell: true,
			short: "link a topic to another",
			long: `Link a topic to another. An event published on FROM reaches TO's subscribers,
and goes no further, if COST is 0 (the default) or the event's cost is not
higher than COST. CLUSTER/TOPIC names a topic of another floe cluster; see
floe clusters.`,
			flags:   func(f *pflag.FlagSet) { f.Bool("replace", false, "give a link that exists the new cost, in one step") },
			example: "floe link A B 5\nfloe link A B -3 --replace",
			run:     runLink},
		{name: "unlink", args: "FROM TO", min: 2, max: 2, topic: twoArgs, shell: true,
			short:   "remove a link",
			example: "floe unlink A B",
			run:     runUnlink},
		{name: "links", args: "[TOPIC]", min: 0, max: 1, prints: true, reads: true, shell: true, topic: firstArg,
			short:   "list the links, of one topic or of all",
			example: "floe links\nfloe links A --json",
			run:     runLinks},
	}
}

func runLink(ctx context.Context, s *session, c *call) error {
	ask := api.NewLink{From: c.args[0], To: c.args[1], Replace: c.bool("replace")}
	if len(c.instances) > 1 {
		ask.Cluster = c.instances[1]
	}
	if len(c.args) == 3 {
		var err error
		if ask.Cost, err = api.ParseCost(c.args[2]); err != nil {
			return usagef("%v", err)
		}
	}
	_, err := s.client.Link(ctx, ask)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Kind == api.LinkExists {
		return &api.Error{Kind: refused.Kind, Message: refused.Message + "; --replace gives it another cost"}
	}
	return err
}

func runUnlink(ctx context.Context, s *session, c *call) error {
	to := c.args[1]
	if len(c.instances) > 1 && c.instances[1] != "" {
		to = c.instances[1] + "/" + to
	}
	return s.client.Unlink(ctx, c.args[0], to)
}

func runLinks(ctx context.Context, s *session, c *call) error {
	all, err := s.links(ctx, c.args)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		for _, l := range all {
			s.say("%s to %s with cost %d", l.From, l.To, l.Cost)
		}
	})
}

func (s *session) links(ctx context.Context, topic []string) ([]api.Link, error) {
	if len(topic) == 0 {
		return s.client.Links(ctx)
	}
	return s.client.TopicLinks(ctx, topic[0])
}
