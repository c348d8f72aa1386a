package ice

import (
	"context"
	"errors"
	"fmt"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// managerType is the TopicManager. createOrRetrieve came with Ice 3.8.
var managerType = &server.Interface[*Face]{
	IDs: []string{"::Ice::Object", "::IceStorm::TopicManager", "::IceStorm::TopicManagerInternal"},
	ID:  "::IceStorm::TopicManagerInternal",
	Operations: map[string]server.Operation[*Face]{
		"create":            {Mode: proto.ModeNormal, Do: (*Face).create},
		"createOrRetrieve":  {Mode: proto.ModeNormal, Do: (*Face).createOrRetrieve},
		"retrieve":          {Mode: proto.ModeIdempotent, Do: (*Face).retrieve},
		"retrieveAll":       {Mode: proto.ModeIdempotent, Inline: true, Do: (*Face).retrieveAll},
		"getSliceChecksums": {Mode: proto.ModeIdempotent, Inline: true, Do: (*Face).getSliceChecksums},
		"getReplicaNode":    {Mode: proto.ModeIdempotent, Inline: true, Do: (*Face).getReplicaNode},
	},
}

func (f *Face) create(ctx context.Context, c *server.Call) error {
	name, err := oneString(c)
	if err != nil {
		return err
	}
	if _, err := f.propose(ctx, c.Request, fsm.CreateTopic{Name: name}); err != nil {
		return err
	}
	f.returnTopic(c, name)
	return nil
}

func (f *Face) createOrRetrieve(ctx context.Context, c *server.Call) error {
	name, err := oneString(c)
	if err != nil {
		return err
	}
	if f.group.View().Graph.Topic(name) == nil {
		_, err = f.group.Propose(ctx, fsm.CreateTopic{Name: name}, "ice "+caller(c.Request))
	}
	if err != nil && !errors.Is(err, topics.ErrExists) {
		return wireError(c.Request, err)
	}
	f.returnTopic(c, name)
	return nil
}

func (f *Face) retrieve(ctx context.Context, c *server.Call) error {
	name, err := oneString(c)
	if err != nil {
		return err
	}
	if f.group.View().Graph.Topic(name) == nil && f.fresh(ctx).Graph.Topic(name) == nil {
		return proto.NoSuchTopic(name)
	}
	f.returnTopic(c, name)
	return nil
}

func (f *Face) returnTopic(c *server.Call, name string) {
	p := f.topicProxy(f.group.View(), name)
	c.Out = proto.AppendProxy(c.Out, &p, c.In.Encoding())
}

// resultOverhead is what a reply has around its results: header, id, status,
// and the encapsulation's size and version.
const resultOverhead = proto.HeaderSize + 4 + 1 + 6

// retrieveAll returns all topics with their proxies. The proxies carry as
// many endpoints as still fit in a message of 1 MiB, since that is all clients
// take unless they are told. Only what does not fit in it with one endpoint
// goes up to the limit we were given.
func (f *Face) retrieveAll(_ context.Context, c *server.Call) error {
	if err := c.In.Finish(); err != nil {
		return err
	}
	v := f.group.View()
	endpoints := f.addressesIn(v).stream
	n := fitting(v, endpoints, min(f.sizeMax, proto.DefaultMaxSize)-resultOverhead, c.In.Encoding())
	if n < 0 {
		n = min(1, fitting(v, endpoints, f.sizeMax-resultOverhead, c.In.Encoding()))
	}
	if n < 0 {
		return fmt.Errorf("retrieveAll: %d topics do not fit in a message of %d bytes; retrieve them by name, or list them with: floe topics", v.Graph.Len(), f.sizeMax)
	}
	c.Out = appendTopics(c.Out, v, endpoints[:n], c.In.Encoding())
	return nil
}

// fitting returns with how many endpoints in each proxy the dictionary of all
// topics takes at most room bytes, -1 where it does not fit with one.
func fitting(v *fsm.View, endpoints []proto.Endpoint, room int, encoding proto.Version) int {
	size := dictSize(v, encoding)
	fit := -1
	if size <= room && len(endpoints) == 0 {
		return 0
	}
	for i := range endpoints {
		size += v.Graph.Len() * len(proto.AppendEndpoint(nil, &endpoints[i], encoding))
		if size > room {
			break
		}
		fit = i + 1
	}
	return fit
}

// dictSize returns the size of the dictionary of all topics, endpoints aside,
// counting five bytes for each size and one more for what is empty.
func dictSize(v *fsm.View, encoding proto.Version) int {
	empty := proto.NewProxy(proto.Identity{Name: topicPrefix, Category: v.Graph.Instance()})
	fixed := len(proto.AppendProxy(nil, &empty, encoding)) + 1
	size := 5
	for t := range v.Graph.All() {
		size += fixed + 2*len(t.Name)
		if len(t.Name)+len(topicPrefix) >= 255 {
			size += 8
		}
	}
	return size
}

func appendTopics(dst []byte, v *fsm.View, endpoints []proto.Endpoint, encoding proto.Version) []byte {
	dst = proto.AppendSize(dst, v.Graph.Len())
	p := proto.NewProxy(proto.Identity{Category: v.Graph.Instance()}, endpoints...)
	for t := range v.Graph.All() {
		p.Identity.Name = topicPrefix + t.Name
		dst = proto.AppendString(dst, t.Name)
		dst = proto.AppendProxy(dst, &p, encoding)
	}
	return dst
}

// getSliceChecksums returns none, as IceStorm 3.7 does.
func (f *Face) getSliceChecksums(_ context.Context, c *server.Call) error {
	c.Out = proto.AppendStringDict(c.Out, nil)
	return c.In.Finish()
}

// oneString reads the parameters of an operation that takes a string.
func oneString(c *server.Call) (string, error) {
	s := c.In.String()
	return s, c.In.Finish()
}

// oneProxy reads the parameters of an operation that takes a proxy.
func oneProxy(c *server.Call) (proto.Proxy, error) {
	p := c.In.Proxy()
	return p, c.In.Finish()
}
