package ice

import (
	"cmp"
	"context"
	"slices"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// topic is a topic as one request finds it.
type topic struct {
	face *Face
	view *fsm.View
	*topics.Topic
}

// newTopicType describes topics. It is no package variable, since linking
// locates objects and locating a topic needs it.
func newTopicType() *server.Interface[*topic] {
	return &server.Interface[*topic]{
		IDs:        []string{"::Ice::Object", "::IceStorm::Topic", "::IceStorm::TopicInternal"},
		ID:         "::IceStorm::TopicInternal",
		Operations: topicOperations(),
	}
}

func topicOperations() map[string]server.Operation[*topic] {
	return map[string]server.Operation[*topic]{
		"getName":                   {Mode: proto.ModeIdempotent, Inline: true, Do: (*topic).getName},
		"getPublisher":              {Mode: proto.ModeIdempotent, Inline: true, Do: (*topic).getPublisher},
		"getNonReplicatedPublisher": {Mode: proto.ModeIdempotent, Inline: true, Do: (*topic).getNonReplicatedPublisher},
		"subscribeAndGetPublisher":  {Mode: proto.ModeNormal, Do: (*topic).subscribe},
		"unsubscribe":               {Mode: proto.ModeIdempotent, Do: (*topic).unsubscribe},
		"link":                      {Mode: proto.ModeNormal, Do: (*topic).link},
		"unlink":                    {Mode: proto.ModeNormal, Do: (*topic).unlink},
		"getLinkInfoSeq":            {Mode: proto.ModeIdempotent, Inline: true, Do: (*topic).getLinkInfoSeq},
		"getSubscribers":            {Mode: proto.ModeNormal, Inline: true, Do: (*topic).getSubscribers},
		"destroy":                   {Mode: proto.ModeNormal, Do: (*topic).destroy},
		"getLinkProxy":              {Mode: proto.ModeIdempotent, Inline: true, Do: (*topic).getLinkProxy},
		"reap":                      {Mode: proto.ModeNormal, Inline: true, Do: (*topic).reap},
	}
}

func (t *topic) getName(_ context.Context, c *server.Call) error {
	c.Out = proto.AppendString(c.Out, t.Name)
	return c.In.Finish()
}

func (t *topic) getPublisher(_ context.Context, c *server.Call) error {
	return returnProxy(c, t.face.publisherProxy(t.view, t.Name))
}

// getNonReplicatedPublisher returns the publisher at this node alone.
func (t *topic) getNonReplicatedPublisher(_ context.Context, c *server.Call) error {
	p := t.face.publisherProxy(t.view, t.Name)
	p.Endpoints = t.face.own
	return returnProxy(c, p)
}

func (t *topic) getLinkProxy(_ context.Context, c *server.Call) error {
	return returnProxy(c, t.face.linkProxy(t.view, t.Name))
}

func returnProxy(c *server.Call, p proto.Proxy) error {
	c.Out = proto.AppendProxy(c.Out, &p, c.In.Encoding())
	return c.In.Finish()
}

func (t *topic) destroy(ctx context.Context, c *server.Call) error {
	if err := c.In.Finish(); err != nil {
		return err
	}
	_, err := t.face.propose(ctx, c.Request, fsm.DestroyTopic{Name: t.Name})
	return err
}

// reap is what the replicas of an IceStorm tell each other. Nobody here needs
// it; who calls it gets a polite answer.
func (t *topic) reap(_ context.Context, c *server.Call) error {
	c.In.Identities()
	return c.In.Finish()
}

// getLinkInfoSeq lists the links in the order they were made. Those inside
// the cluster are given with today's addresses, others as they were made.
func (t *topic) getLinkInfoSeq(_ context.Context, c *server.Call) error {
	infos := make([]proto.LinkInfo, len(t.Links))
	for i, l := range t.Links {
		id := t.view.Graph.TargetIdentity(l)
		infos[i] = proto.LinkInfo{Topic: t.linkTarget(l), Name: linkName(l, id), Cost: l.Cost}
	}
	c.Out = proto.AppendLinkInfos(c.Out, infos, c.In.Encoding())
	return c.In.Finish()
}

// linkName is what people are shown: the target topic's name, or the messages
// as floe's own tools show them.
func linkName(l topics.Link, target topics.Identity) string {
	if l.Remote != nil && l.Remote.Messages != nil {
		return target.Category + ":" + target.Name
	}
	return topics.TopicName(target)
}

// linkTarget is the target's proxy. That of messages names an object that does
// not exist, and this cluster's endpoints, so that who calls it is told so.
func (t *topic) linkTarget(l topics.Link) proto.Proxy {
	if l.Remote == nil {
		return t.face.topicProxy(t.view, t.view.Graph.ByID(l.To).Name)
	}
	if l.Remote.Messages != nil {
		return proto.NewProxy(proto.Identity(l.Remote.Identity), t.face.addressesIn(t.view).stream...)
	}
	if p := unmarshal(l.Remote.Proxy); !p.IsNull() {
		return p
	}
	return proto.NewProxy(proto.Identity(l.Remote.Identity))
}

// getSubscribers lists subscribers and, as IceStorm does, link targets in the
// order they came.
func (t *topic) getSubscribers(_ context.Context, c *server.Call) error {
	type entry struct {
		serial uint64
		id     proto.Identity
	}
	var entries []entry
	for _, s := range t.Subscriptions {
		entries = append(entries, entry{s.Serial, proto.Identity(s.Identity)})
	}
	for _, l := range t.Links {
		entries = append(entries, entry{l.Serial, proto.Identity(t.view.Graph.TargetIdentity(l))})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.serial, b.serial) })
	c.Out = proto.AppendSize(c.Out, len(entries))
	for _, e := range entries {
		c.Out = proto.AppendIdentity(c.Out, e.id)
	}
	return c.In.Finish()
}
