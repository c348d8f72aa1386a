package ice

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

const getLinkProxy = "getLinkProxy"

// link makes a link to a topic of this cluster or of another Ice server. As
// in IceStorm the target is asked for its link object first, so that a link
// to nothing is never made.
func (t *topic) link(ctx context.Context, c *server.Call) error {
	target := c.In.Proxy()
	cost := c.In.Int32()
	if err := c.In.Finish(); err != nil {
		return err
	}
	if target.IsNull() {
		return errors.New("link: the target is a null proxy")
	}
	op := fsm.Link{From: t.Name, Cost: cost}
	local, err := t.face.isLocal(ctx, &target)
	if err != nil {
		return err
	}
	if local {
		op.To = target.Identity.Name[len(topicPrefix):]
	} else {
		op.Remote = &topics.Remote{Identity: topics.Identity(target.Identity), Proxy: marshal(&target)}
	}
	_, err = t.face.group.Propose(ctx, op, "ice "+caller(c.Request))
	if local && isMissing(err, op.To) && op.To != t.Name {
		return missingTarget(&target, proto.StatusObjectNotExist)
	}
	return wireError(c.Request, err)
}

func isMissing(err error, name string) bool {
	var refusal *fsm.Refusal
	return errors.As(err, &refusal) && refusal.Kind == topics.ErrNoTopic && refusal.Name == name
}

// missingTarget is what asking the target for its link object gave.
func missingTarget(target *proto.Proxy, status proto.Status) error {
	return &proto.NotExistError{Status: status, Identity: target.Identity, Facet: target.Facet, Operation: getLinkProxy}
}

// isLocal tells a topic of this cluster from one of another server. The
// error is what the client is told where there is no such topic.
func (f *Face) isLocal(ctx context.Context, target *proto.Proxy) (bool, error) {
	v := f.group.View()
	if f.ours(v, target) {
		return true, f.checkLocal(ctx, target)
	}
	link, err := f.askLinkProxy(ctx, target)
	if err != nil {
		return false, err
	}
	// A name or address of ours that we don't know as such led back to us.
	name, isLink := strings.CutSuffix(link.Identity.Name, linkSuffix)
	back := isLink && link.Identity.Category == v.Graph.Instance() && f.addressesIn(v).ours(link.Endpoints)
	return back && target.Identity.Name == topicPrefix+name && target.Identity.Category == v.Graph.Instance(), nil
}

// ours tells whether a proxy leads to an object of this cluster: by one of
// our addresses, by an adapter id that stands for us, or, having neither, by
// the name of a topic that lives here.
func (f *Face) ours(v *fsm.View, p *proto.Proxy) bool {
	if p.Identity.Category != v.Graph.Instance() {
		return false
	}
	if len(p.Endpoints) > 0 {
		return f.addressesIn(v).ours(p.Endpoints)
	}
	if p.AdapterID != "" {
		return f.ownAdapter(p.AdapterID)
	}
	name, ok := strings.CutPrefix(p.Identity.Name, topicPrefix)
	return ok && v.Graph.Topic(name) != nil
}

// checkLocal gives the error that getLinkProxy on an object of ours would give.
func (f *Face) checkLocal(ctx context.Context, target *proto.Proxy) error {
	s := f.Locate(target.Identity)
	if s == nil && f.Refresh(ctx, target.Identity) {
		s = f.Locate(target.Identity)
	}
	name, named := strings.CutPrefix(target.Identity.Name, topicPrefix)
	switch {
	case s == nil:
		return missingTarget(target, proto.StatusObjectNotExist)
	case target.Facet != "":
		return missingTarget(target, proto.StatusFacetNotExist)
	case !named || f.group.View().Graph.Topic(name) == nil:
		return missingTarget(target, proto.StatusOperationNotExist)
	}
	return nil
}

// askLinkProxy calls getLinkProxy on a topic of another server.
func (f *Face) askLinkProxy(ctx context.Context, target *proto.Proxy) (proto.Proxy, error) {
	result, err := f.call(ctx, target, getLinkProxy, proto.ModeIdempotent, nil)
	if err != nil {
		return proto.Proxy{}, nestedError(err)
	}
	link, err := proxyIn(result)
	if err != nil {
		return proto.Proxy{}, fmt.Errorf("link: answer of %s: %w", target.Identity, err)
	}
	if link.IsNull() {
		return proto.Proxy{}, fmt.Errorf("link: %s has no link object (it answered with a null proxy)", target.Identity)
	}
	return link, nil
}

func (t *topic) unlink(ctx context.Context, c *server.Call) error {
	target, err := oneProxy(c)
	if err != nil {
		return err
	}
	if target.IsNull() {
		return errors.New("unlink: the target is a null proxy")
	}
	_, err = t.face.propose(ctx, c.Request, fsm.Unlink{From: t.Name, Target: topics.Identity(target.Identity)})
	return err
}
