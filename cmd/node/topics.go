package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

func topicCommands() []*command {
	return []*command{
		{name: "create", args: "TOPIC...", min: 1, max: -1, topic: everyArg, shell: true,
			short:   "make topics",
			long:    "Make topics. Of several, those that exist already are passed with a warning.",
			example: "floe create A B C\nfloe create -- -dashed",
			run:     runCreate},
		{name: "destroy", args: "TOPIC...", min: 1, max: -1, topic: everyArg, shell: true,
			short:   "remove topics with their links and subscriptions",
			long:    "Remove topics with their links, both ways, and their subscriptions. Of several, those that do not exist are passed with a warning.\nOne that a route leads to (topic:NAME) is refused unless forced; the route stays.",
			flags:   func(f *pflag.FlagSet) { f.Bool("force", false, "also where a route leads to the topic") },
			example: "floe destroy A\nfloe destroy B --force",
			run:     runDestroy},
		{name: "topics", args: "", min: 0, max: 0, prints: true, reads: true, shell: true,
			short:   "list the topics",
			example: "floe topics --json",
			run:     runTopics},
		{name: "subscribers", args: "[TOPIC...]", min: 0, max: -1, prints: true, reads: true, shell: true, topic: everyArg,
			short:   "list the subscribers and links of topics",
			long:    "List the subscribers of topics, of all where none is named. A link's target is listed, too, as IceStorm does, and marked as a link.\nWith --json each says how it is doing, as the asked node counts: state, events queued, delivered and dropped, age of the oldest, last error.",
			example: "floe subscribers A",
			run:     runSubscribers},
		{name: "unsubscribe", args: "TOPIC IDENTITY", min: 2, max: 2, shell: true, topic: firstArg,
			short:   "remove a subscriber, named by its Ice identity",
			example: "floe unsubscribe A category/name", needs: "a subscriber of that name",
			run: runUnsubscribe},
	}
}

func runCreate(ctx context.Context, s *session, c *call) error {
	return s.each(c.args, func(name string) error {
		_, err := s.client.Create(ctx, name)
		return err
	})
}

func runDestroy(ctx context.Context, s *session, c *call) error {
	return s.each(c.args, func(name string) error { return s.client.Destroy(ctx, name, c.bool("force")) })
}

// each does something for every name. Of several names, a refused one is
// passed with a warning, as icestormadmin does; anything else ends it.
func (s *session) each(names []string, do func(string) error) error {
	for _, name := range names {
		err := do(name)
		if err == nil {
			continue
		}
		var e *api.Error
		if len(names) == 1 || !errors.As(err, &e) || e.Kind.Exit() != api.ExitRefused {
			return err
		}
		s.warn("warning", err)
	}
	return nil
}

func runTopics(ctx context.Context, s *session, _ *call) error {
	all, err := s.client.Topics(ctx)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		s.none(len(all), "no topics yet; floe create A makes one")
		for _, t := range all {
			s.say("%s", t.Name)
		}
	})
}

func runSubscribers(ctx context.Context, s *session, c *call) error {
	all, err := s.client.Subscribers(ctx, c.args...)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		s.none(len(all), "no subscribers; programs subscribe over Ice, and floe sub TOPIC prints events here")
		s.sayByTopic(c.args, all)
	})
}

// sayByTopic prints subscribers in the form of icestormadmin, which has a
// line for every topic that was asked for.
func (s *session) sayByTopic(asked []string, all []api.Subscriber) {
	by := map[string][]api.Subscriber{}
	for _, sub := range all {
		by[sub.Topic] = append(by[sub.Topic], sub)
	}
	order := asked
	if len(asked) == 0 {
		order = topicOrder(all)
	}
	for _, topic := range order {
		s.say("%s: subscribers:", topic)
		for _, sub := range by[topic] {
			mark := ""
			if sub.Link {
				mark = " (link)"
			}
			s.say("\t%s%s", sub.Identity, mark)
		}
	}
}

func topicOrder(all []api.Subscriber) []string {
	var order []string
	for i, sub := range all {
		if i == 0 || all[i-1].Topic != sub.Topic {
			order = append(order, sub.Topic)
		}
	}
	return order
}

func runUnsubscribe(ctx context.Context, s *session, c *call) error {
	if c.args[1] == "" {
		return usagef("`unsubscribe' needs the identity of a subscriber")
	}
	return s.client.Unsubscribe(ctx, c.args[0], c.args[1])
}
