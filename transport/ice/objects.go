package ice

import (
	"context"
	"strings"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// Names of the objects; those of topics are made of these and the topic's name.
const (
	managerName   = "TopicManager"
	topicPrefix   = "topic."
	publishSuffix = ".publish"
	linkSuffix    = ".link"
	privateInfix  = ".publish."
)

var (
	// finderID is the same whatever the instance is called.
	finderID  = proto.Identity{Name: "Finder", Category: "IceStorm"}
	locatorID = proto.Identity{Name: "Locator", Category: "floe"}
)

// Locate returns the servant of an identity, nil if there is no such object.
func (f *Face) Locate(id proto.Identity) server.Servant {
	switch id {
	case finderID:
		return f.finder
	case locatorID:
		return f.locator
	}
	v := f.group.View()
	if id.Category != v.Graph.Instance() {
		return nil
	}
	if id.Name == managerName {
		return f.manager
	}
	if strings.HasPrefix(id.Name, topicPrefix) {
		if s := f.locateTopic(v, id.Name[len(topicPrefix):]); s != nil {
			return s
		}
	}
	if name, ok := strings.CutSuffix(id.Name, publishSuffix); ok {
		return f.locatePublisher(name)
	}
	if name, ok := strings.CutSuffix(id.Name, linkSuffix); ok {
		return f.locateLink(name)
	}
	return f.locateNode(v, id.Name)
}

// locateTopic finds a topic, or the private publisher of a subscriber.
func (f *Face) locateTopic(v *fsm.View, rest string) server.Servant {
	if t := v.Graph.Topic(rest); t != nil {
		return f.topicType.Bind(&topic{face: f, view: v, Topic: t})
	}
	t, subscriber := splitPrivate(v.Graph, rest)
	if t == nil {
		return nil
	}
	if to := f.hub.Topic(t.Name); to != nil {
		return &privatePublisher{topic: to, subscriber: subscriber}
	}
	return nil
}

// splitPrivate takes NAME.publish.SUBSCRIBER apart. Either may hold the infix
// too, so the split is the one that gives a topic and its subscriber.
func splitPrivate(g *topics.Graph, rest string) (*topics.Topic, topics.Identity) {
	for at := 0; ; {
		i := strings.Index(rest[at:], privateInfix)
		if i < 0 {
			return nil, topics.Identity{}
		}
		at += i
		id, err := proto.ParseIdentity(rest[at+len(privateInfix):])
		if t := g.Topic(rest[:at]); err == nil && t != nil && t.Subscription(topics.Identity(id)) != nil {
			return t, topics.Identity(id)
		}
		at++
	}
}

func (f *Face) locatePublisher(name string) server.Servant {
	if t := f.hub.Topic(name); t != nil {
		return &publisher{topic: t}
	}
	return nil
}

func (f *Face) locateLink(name string) server.Servant {
	if t := f.hub.Topic(name); t != nil {
		return linkType.Bind(&linkObject{face: f, topic: t})
	}
	return nil
}

// Refresh asks the leader before a client is told that an object of a topic
// does not exist, since another node may have made it.
func (f *Face) Refresh(ctx context.Context, id proto.Identity) bool {
	if id.Category != f.group.View().Graph.Instance() || !ofTopic(id.Name) {
		return false
	}
	f.fresh(ctx)
	return true
}

func ofTopic(name string) bool {
	return strings.HasPrefix(name, topicPrefix) || strings.HasSuffix(name, publishSuffix) || strings.HasSuffix(name, linkSuffix)
}
