package cluster

import (
	"github.com/hashicorp/raft"

	"floe/fsm"
)

// Corrupt has a node's state differ from now on: it applies what no other
// applies, at an index that it has already. Nothing else may be under way.
func (n *Node) Corrupt(op fsm.Op) error {
	data, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return err
	}
	n.state.ApplyBatch([]*raft.Log{{Index: n.View().Index, Term: 1, Type: raft.LogCommand, Data: data}})
	n.marks.stand(n.View())
	return nil
}

// ApplyRaw has this leader log bytes that it would refuse to log.
func (n *Node) ApplyRaw(data []byte) uint64 {
	f := n.half.Load().raft.Apply(data, 0)
	_ = f.Error()
	return f.Index()
}

// SetRPCsInFlight has nodes that start from now on send that many requests to
// a follower before the first is answered.
func SetRPCsInFlight(n int) { rpcsInFlight = n }

// Pipeline has Raft's transport open a pipeline to another node.
func (n *Node) Pipeline(id string) error {
	_, err := n.half.Load().trans.AppendEntriesPipeline(raft.ServerID(id), raft.ServerAddress(id))
	return err
}
