package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"floe/topics"
	"floe/transport/http/api"
)

func linkCommands() []*command {
	return []*command{
		{name: "link", args: "FROM TO [COST]", min: 1, max: 3, topic: twoArgs, shell: true,
			short: "link a topic to another",
			long: `Link a topic to another. An event published on FROM reaches TO's subscribers,
and goes no further, if COST is 0 (the default) or the event's cost is not
higher than COST. CLUSTER/TOPIC names a topic of another floe cluster; see
floe clusters. With --to-messages in place of TO the events leave as RMR messages
of that type and subscription id, by the route table.`,
			flags: func(f *pflag.FlagSet) {
				f.Bool("replace", false, "give a link that exists the new cost, in one step")
				addToMessages(f)
			},
			example: "floe link A B 5\nfloe link A B -3 --replace\nfloe link A --to-messages 12050/3 5",
			run:     runLink},
		{name: "unlink", args: "FROM TO", min: 1, max: 2, topic: twoArgs, shell: true,
			short:   "remove a link",
			flags:   addToMessages,
			example: "floe unlink A B\nfloe unlink A --to-messages 12050/3",
			run:     runUnlink},
		{name: "links", args: "[TOPIC]", min: 0, max: 1, prints: true, reads: true, shell: true, topic: firstArg,
			short:   "list the links, of one topic or of all",
			example: "floe links\nfloe links A --json",
			run:     runLinks},
	}
}

func runLink(ctx context.Context, s *session, c *call) error {
	ask, rest, err := linkEnds("link", c)
	if err != nil {
		return err
	}
	ask.Replace = c.bool("replace")
	switch len(rest) {
	case 0:
	case 1:
		if ask.Cost, err = api.ParseCost(rest[0]); err != nil {
			return usagef("%v", err)
		}
	default:
		return usagef("`link' takes TO or --to-messages, not both")
	}
	_, err = s.client.Link(ctx, ask)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Kind == api.LinkExists {
		return &api.Error{Kind: refused.Kind, Message: refused.Message + "; --replace gives it another cost"}
	}
	return err
}

func runUnlink(ctx context.Context, s *session, c *call) error {
	ask, rest, err := linkEnds("unlink", c)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("`unlink' takes TO or --to-messages, not both")
	case ask.Messages:
		return s.client.UnlinkMessages(ctx, ask.From, ask.To)
	case ask.Cluster != "":
		return s.client.Unlink(ctx, ask.From, ask.Cluster+"/"+ask.To)
	}
	return s.client.Unlink(ctx, ask.From, ask.To)
}

func addToMessages(f *pflag.FlagSet) {
	f.Var(newText(""), "to-messages", "`MTYPE[/SUBID]` of the messages that events leave as")
}

// linkEnds reads where a link begins and ends, and returns the arguments
// that are left.
func linkEnds(name string, c *call) (ask api.NewLink, rest []string, err error) {
	ask.From = c.args[0]
	if text := c.text("to-messages"); text != "" {
		m, err := topics.ParseMessages(text)
		if err != nil {
			return ask, nil, usagef("--to-messages: %v", err)
		}
		if len(c.instances) > 1 && c.instances[1] != "" {
			return ask, nil, usagef("`%s' takes TO or --to-messages, not both", name)
		}
		ask.To, ask.Messages = m.String(), true
		return ask, c.args[1:], nil
	}
	if len(c.args) < 2 {
		return ask, nil, usagef("`%s' takes a topic, and a second one or --to-messages", name)
	}
	ask.To = c.args[1]
	if len(c.instances) > 1 {
		ask.Cluster = c.instances[1]
	}
	return ask, c.args[2:], nil
}

func runLinks(ctx context.Context, s *session, c *call) error {
	all, err := s.links(ctx, c.args)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		s.none(len(all), "no links; floe link FROM TO [COST] makes one")
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
