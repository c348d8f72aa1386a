package ice

import (
	"context"
	"fmt"
	"slices"

	"floe/fsm"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// replica is this node as "icestormadmin replica" asks for it. Its number is
// its place among the nodes of the Raft group, sorted by id.
type replica struct {
	face  *Face
	view  *fsm.View
	index int
}

var nodeType = &server.Interface[*replica]{
	IDs: []string{"::Ice::Object", "::IceStormElection::Node"},
	ID:  "::IceStormElection::Node",
	Operations: map[string]server.Operation[*replica]{
		"nodes": {Mode: proto.ModeIdempotent, Inline: true, Do: (*replica).nodes},
		"query": {Mode: proto.ModeIdempotent, Inline: true, Do: (*replica).query},
	},
}

func nodeName(index int) string { return fmt.Sprintf("node%d", index) }

func indexOf(v *fsm.View, id string) int {
	return slices.IndexFunc(v.Servers, func(s fsm.Server) bool { return s.ID == id })
}

func (f *Face) locateNode(v *fsm.View, name string) server.Servant {
	i := indexOf(v, f.config.Node)
	if i < 0 || name != nodeName(i) {
		return nil
	}
	return nodeType.Bind(&replica{face: f, view: v, index: i})
}

// getReplicaNode returns null on a cluster of one node, which icestormadmin
// calls not replicated.
func (f *Face) getReplicaNode(_ context.Context, c *server.Call) error {
	v := f.group.View()
	i := indexOf(v, f.config.Node)
	if i < 0 || len(v.Servers) < 2 {
		return returnProxy(c, proto.Proxy{})
	}
	return returnProxy(c, f.nodeProxy(v, i))
}

// nodeProxy returns the Node proxy of one node, at that node alone.
func (f *Face) nodeProxy(v *fsm.View, index int) proto.Proxy {
	id := proto.Identity{Name: nodeName(index), Category: v.Graph.Instance()}
	return proto.NewProxy(id, streams(f.endpointsOf(v, v.Servers[index].ID))...)
}

func (r *replica) nodes(_ context.Context, c *server.Call) error {
	infos := make([]proto.NodeInfo, len(r.view.Servers))
	for i := range infos {
		infos[i] = proto.NodeInfo{ID: int32(i), Node: r.face.nodeProxy(r.view, i)}
	}
	c.Out = proto.AppendNodeInfos(c.Out, infos, c.In.Encoding())
	return c.In.Finish()
}

// query maps Raft to what a replica of IceStorm tells about its election. No
// leader is an election, and no coordinator. max is the size of the group, as
// the capture ha-node-query shows.
func (r *replica) query(_ context.Context, c *server.Call) error {
	manager := proto.NewProxy(proto.Identity{Name: managerName, Category: r.view.Graph.Instance()}, streams(r.face.own)...)
	q := proto.QueryInfo{ID: int32(r.index), Coord: -1, Replica: manager, State: proto.NodeElection, Max: int32(len(r.view.Servers))}
	leader, term := r.face.leader()
	q.Group = fmt.Sprintf("%s:%d", r.view.ClusterID, term)
	if i := indexOf(r.view, leader); i >= 0 {
		q.Coord, q.State = int32(i), proto.NodeNormal
	}
	if leader == r.face.config.Node {
		q.Up = r.up()
	}
	c.Out = proto.AppendQueryInfo(c.Out, &q, c.In.Encoding())
	return c.In.Finish()
}

// up lists the other nodes that live; only the leader does.
func (r *replica) up() []proto.GroupInfo {
	var out []proto.GroupInfo
	for i, s := range r.view.Servers {
		if i != r.index && r.face.live(s.ID) {
			out = append(out, proto.GroupInfo{ID: int32(i)})
		}
	}
	return out
}

func (f *Face) leader() (string, uint64) {
	if f.config.Leader == nil {
		return "", 0
	}
	return f.config.Leader()
}

func (f *Face) live(id string) bool {
	return id == f.config.Node || f.config.Live == nil || f.config.Live(id)
}
