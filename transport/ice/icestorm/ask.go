package icestorm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"floe/transport/ice/proto"
)

// Caller makes calls; *client.Client is one.
type Caller interface {
	Call(ctx context.Context, p *proto.Proxy, operation string, mode byte, context proto.Context, params []byte) (proto.Reply, error)
}

// Topics asks a running service, whose topic manager is given, for its topics
// by name.
func Topics(ctx context.Context, caller Caller, manager proto.Proxy) (map[string]proto.Proxy, error) {
	all := map[string]proto.Proxy{}
	err := ask(ctx, caller, &manager, "retrieveAll", proto.ModeIdempotent, func(d *proto.Decoder) {
		for range d.SeqSize(3) {
			name := d.String()
			all[name] = d.Proxy()
		}
	})
	return all, err
}

// Links asks for the links of a topic. One that has failed is hidden.
func Links(ctx context.Context, caller Caller, topic proto.Proxy) ([]proto.LinkInfo, error) {
	var links []proto.LinkInfo
	err := ask(ctx, caller, &topic, "getLinkInfoSeq", proto.ModeIdempotent, func(d *proto.Decoder) { links = d.LinkInfos() })
	return links, err
}

// Ask asks a running IceStorm, whose topic manager is given, for its topics
// and links. Of subscribers a service tells the identities alone: they are
// among what can't be carried over. A link that has failed is hidden by it.
func Ask(ctx context.Context, caller Caller, manager proto.Proxy) (*Contents, error) {
	all, err := Topics(ctx, caller, manager)
	if err != nil {
		return nil, err
	}
	c := &Contents{Instance: manager.Identity.Category}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.Topics = append(c.Topics, name)
		if err := c.askTopic(ctx, caller, name, all[name]); err != nil {
			return nil, fmt.Errorf("topic %s: %w", quoted(name), err)
		}
	}
	c.settle()
	return c, nil
}

func (c *Contents) askTopic(ctx context.Context, caller Caller, name string, topic proto.Proxy) error {
	if topic.Identity.Category != c.Instance || !strings.HasPrefix(topic.Identity.Name, topicPrefix) {
		return fmt.Errorf("its identity %s is none of instance %q", topic.Identity, c.Instance)
	}
	linked := map[proto.Identity]bool{}
	links, err := Links(ctx, caller, topic)
	if err != nil {
		return err
	}
	for _, l := range links {
		linked[l.Topic.Identity] = true
		c.Receivers = append(c.Receivers, Receiver{Topic: name, Link: true, Cost: l.Cost, Proxy: l.Topic})
	}
	return ask(ctx, caller, &topic, "getSubscribers", proto.ModeNormal, func(d *proto.Decoder) {
		for _, id := range d.Identities() {
			if !linked[id] {
				c.leave("subscriber %s of topic %s: a running service does not tell its proxy; the database has it", quoted(id.String()), quoted(name))
			}
		}
	})
}

// ask makes a call without parameters.
func ask(ctx context.Context, caller Caller, p *proto.Proxy, operation string, mode byte, read func(*proto.Decoder)) error {
	reply, err := caller.Call(ctx, p, operation, mode, nil, nil)
	if err == nil {
		err = reply.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	d, err := proto.OpenEncapsulation(reply.Encaps)
	if err == nil {
		read(&d)
		err = d.Finish()
	}
	if err != nil {
		return fmt.Errorf("%s: the answer can't be read: %w", operation, err)
	}
	return nil
}
