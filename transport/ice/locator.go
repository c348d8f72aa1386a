package ice

import (
	"context"
	"strings"

	"floe/fsm"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// clusterAdapter is the adapter id that stands for whichever nodes live now:
// "IceStorm/TopicManager @ floe" with Ice.Default.Locator=floe/Locator:...
const clusterAdapter = "floe"

// Exceptions of Ice::Locator.
const (
	typeAdapterNotFound = "::Ice::AdapterNotFoundException"
	typeObjectNotFound  = "::Ice::ObjectNotFoundException"
)

// locatorType is Ice::Locator. Its queries are idempotent, sent as
// nonmutating by Ice 3.7.
var locatorType = &server.Interface[*Face]{
	IDs: []string{"::Ice::Locator", "::Ice::Object"},
	ID:  "::Ice::Locator",
	Operations: map[string]server.Operation[*Face]{
		"findObjectById":  {Mode: proto.ModeIdempotent, Do: (*Face).findObjectByID},
		"findAdapterById": {Mode: proto.ModeIdempotent, Inline: true, Do: (*Face).findAdapterByID},
		"getRegistry":     {Mode: proto.ModeIdempotent, Inline: true, Do: (*Face).getRegistry},
	},
}

// findAdapterByID answers with a proxy whose endpoints matter and whose
// identity does not, as IceGrid does.
func (f *Face) findAdapterByID(_ context.Context, c *server.Call) error {
	id, err := oneString(c)
	if err != nil {
		return err
	}
	if !f.ownAdapter(id) {
		return &proto.UserException{TypeID: typeAdapterNotFound}
	}
	p := proto.NewProxy(proto.Identity{Name: "dummy"}, f.liveEndpoints(f.group.View())...)
	if id == f.config.Adapter.ID {
		p.Endpoints = f.own
	}
	c.Out = proto.AppendProxy(c.Out, &p, c.In.Encoding())
	return nil
}

// ownAdapter tells whether an adapter id stands for this cluster or this node.
func (f *Face) ownAdapter(id string) bool {
	return id == clusterAdapter || id != "" && (id == f.config.Adapter.ID || id == f.config.Adapter.ReplicaGroup)
}

// liveEndpoints returns the endpoints of the voters that live, this node's
// first. This node lives: it answers.
func (f *Face) liveEndpoints(v *fsm.View) []proto.Endpoint {
	var out []proto.Endpoint
	nodes := 0
	for _, n := range f.addressesIn(v).voters {
		if nodes < maxNodes && len(n.endpoints) > 0 && f.live(n.id) {
			out = append(out, f.endpointsOf(v, n.id)...)
			nodes++
		}
	}
	return out
}

func (f *Face) findObjectByID(ctx context.Context, c *server.Call) error {
	id := c.In.Identity()
	if err := c.In.Finish(); err != nil {
		return err
	}
	s := f.Locate(id)
	if s == nil && f.Refresh(ctx, id) {
		s = f.Locate(id)
	}
	if s == nil {
		return &proto.UserException{TypeID: typeObjectNotFound}
	}
	p := proto.NewProxy(id, f.endpointsFor(id)...)
	c.Out = proto.AppendProxy(c.Out, &p, c.In.Encoding())
	return nil
}

// endpointsFor leaves the ones for datagrams out where an object takes no events.
func (f *Face) endpointsFor(id proto.Identity) []proto.Endpoint {
	v := f.group.View()
	if strings.HasPrefix(id.Name, "node") {
		return streams(f.own)
	}
	if strings.HasSuffix(id.Name, publishSuffix) || strings.Contains(id.Name, privateInfix) {
		return f.liveEndpoints(v)
	}
	return streams(f.liveEndpoints(v))
}

// getRegistry returns null: servers can't register here.
func (f *Face) getRegistry(_ context.Context, c *server.Call) error {
	return returnProxy(c, proto.Proxy{})
}
