package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"floe/transport/http/api"
	"floe/transport/ice/client"
	"floe/transport/ice/icestorm"
	"floe/transport/ice/proto"
)

// bothWays links topics with those of the same name in an IceStorm, in both
// directions, or removes these links.
type bothWays struct {
	caller icestorm.Caller
	undo   bool
	done   int // links made or removed
}

func runBothWays(ctx context.Context, s *session, c *call) error {
	theirs, err := proto.ParseProxy(c.args[0])
	if err != nil {
		return usagef("%v", err)
	}
	ours, err := s.ownManager(ctx)
	if err != nil {
		return err
	}
	caller := client.New(client.Config{MessageSizeMax: askLimit})
	defer caller.Close(context.WithoutCancel(ctx))
	here, err := icestorm.Topics(ctx, caller, ours)
	if err != nil {
		return fmt.Errorf("this cluster, by its Ice listeners: %w", err)
	}
	there, err := icestorm.Topics(ctx, caller, theirs)
	if err != nil {
		return fmt.Errorf("%s: %w", theirs.Identity, err)
	}
	names := c.args[1:]
	if len(names) == 0 {
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(here)), func(name string) bool { _, both := there[name]; return !both })
	}
	b := &bothWays{caller: caller, undo: c.bool("undo")}
	for _, name := range names {
		if err := b.topic(ctx, name, here, there); err != nil {
			return err
		}
	}
	word := "made"
	if b.undo {
		word = "removed"
	}
	shown := struct {
		Topics int `json:"topics"`
		Links  int `json:"links"`
	}{len(names), b.done}
	return s.print(shown, func() {
		s.say("%s in both; %s %s", isOrAre(shown.Topics, "topic"), api.Plural(shown.Links, "link"), word)
	})
}

// ownManager is the topic manager of this cluster, at all nodes.
func (s *session) ownManager(ctx context.Context) (proto.Proxy, error) {
	status, err := s.client.Status(ctx)
	if err != nil {
		return proto.Proxy{}, err
	}
	manager := proto.NewProxy(proto.Identity{Name: "TopicManager", Category: status.Instance})
	for _, m := range status.Members {
		for name, list := range m.Addresses {
			if strings.HasPrefix(name, "ice") {
				endpoints, err := proto.ParseEndpoints(strings.Join(list, ":"))
				if err != nil {
					return proto.Proxy{}, fmt.Errorf("node %s: %w", m.ID, err)
				}
				manager.Endpoints = append(manager.Endpoints, endpoints...)
			}
		}
	}
	if len(manager.Endpoints) == 0 {
		return proto.Proxy{}, errors.New("no node listens for Ice")
	}
	return manager, nil
}

func (b *bothWays) topic(ctx context.Context, name string, here, there map[string]proto.Proxy) error {
	ours, is := here[name]
	theirs, isThere := there[name]
	if !is || !isThere {
		return fmt.Errorf("topic %q is not in both", name)
	}
	if err := b.link(ctx, name, theirs, ours); err != nil { // it may have a link of its own in the way
		return err
	}
	return b.link(ctx, name, ours, theirs)
}

// link makes or removes one link. That it is there, or gone, already is no
// error.
func (b *bothWays) link(ctx context.Context, name string, from, to proto.Proxy) error {
	links, err := icestorm.Links(ctx, b.caller, from)
	if err != nil {
		return fmt.Errorf("topic %q at %s: %w", name, endpointsText(&from), err)
	}
	i := slices.IndexFunc(links, func(l proto.LinkInfo) bool { return l.Topic.Identity == to.Identity })
	there := i >= 0 && shareEndpoint(&links[i].Topic, &to)
	switch {
	case there != b.undo: // it is as it should be
		return nil
	case i >= 0 && !there:
		return fmt.Errorf("topic %q at %s has a link to %s already, which leads elsewhere: it can't be linked both ways", name, endpointsText(&from), to.Identity)
	}
	return b.change(ctx, name, &from, &to)
}

func (b *bothWays) change(ctx context.Context, name string, from, to *proto.Proxy) error {
	operation := "link"
	params, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	params = proto.AppendProxy(params, to, proto.Encoding11)
	if b.undo {
		operation = "unlink"
	} else {
		params = proto.AppendInt32(params, 0) // every event passes
	}
	reply, err := b.caller.Call(ctx, from, operation, proto.ModeNormal, nil, proto.EndEncapsulation(params, start))
	if err == nil {
		err = reply.Err()
	}
	if err != nil {
		return fmt.Errorf("%s topic %q at %s: %w", operation, name, endpointsText(from), err)
	}
	b.done++
	return nil
}

func shareEndpoint(a, b *proto.Proxy) bool {
	return slices.ContainsFunc(a.Endpoints, func(e proto.Endpoint) bool {
		return slices.ContainsFunc(b.Endpoints, func(o proto.Endpoint) bool { return hostPort(&e) == hostPort(&o) })
	})
}

func endpointsText(p *proto.Proxy) string {
	parts := make([]string, len(p.Endpoints))
	for i := range p.Endpoints {
		parts[i] = p.Endpoints[i].String()
	}
	return strings.Join(parts, ":")
}

func isOrAre(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return api.Plural(n, thing) + " are"
}
