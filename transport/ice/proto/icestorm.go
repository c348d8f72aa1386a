package proto

// LinkInfo is an element of the result of getLinkInfoSeq.
type LinkInfo struct {
	Topic Proxy // as it was passed to link
	Name  string
	Cost  int32
}

// LinkInfos reads a sequence of LinkInfo.
func (d *Decoder) LinkInfos() []LinkInfo {
	const minSize = 7 // null proxy, empty name, int
	n := d.SeqSize(minSize)
	list := make([]LinkInfo, 0, min(n, growLimit))
	for range n {
		list = append(list, LinkInfo{Topic: d.Proxy(), Name: d.String(), Cost: d.Int32()})
	}
	return list
}

// AppendLinkInfos appends a sequence of LinkInfo.
func AppendLinkInfos(dst []byte, list []LinkInfo, encoding Version) []byte {
	dst = AppendSize(dst, len(list))
	for i := range list {
		dst = AppendProxy(dst, &list[i].Topic, encoding)
		dst = AppendString(dst, list[i].Name)
		dst = AppendInt32(dst, list[i].Cost)
	}
	return dst
}

// NodeInfo is an element of the result of the operation nodes.
type NodeInfo struct {
	ID   int32
	Node Proxy
}

// NodeInfos reads a sequence of NodeInfo.
func (d *Decoder) NodeInfos() []NodeInfo {
	const minSize = 6
	n := d.SeqSize(minSize)
	list := make([]NodeInfo, 0, min(n, growLimit))
	for range n {
		list = append(list, NodeInfo{ID: d.Int32(), Node: d.Proxy()})
	}
	return list
}

// AppendNodeInfos appends a sequence of NodeInfo.
func AppendNodeInfos(dst []byte, list []NodeInfo, encoding Version) []byte {
	dst = AppendSize(dst, len(list))
	for i := range list {
		dst = AppendInt32(dst, list[i].ID)
		dst = AppendProxy(dst, &list[i].Node, encoding)
	}
	return dst
}

// NodeState is the state of a replica in QueryInfo.
type NodeState int

// The states of a replica.
const (
	NodeInactive       NodeState = 0
	NodeElection       NodeState = 1
	NodeReorganization NodeState = 2
	NodeNormal         NodeState = 3
)

// GroupInfo describes another replica, in QueryInfo.
type GroupInfo struct {
	ID                    int32
	Generation, Iteration int64 // its last log entry
}

// QueryInfo is the result of the operation query of a replica.
type QueryInfo struct {
	ID, Coord int32
	Group     string
	Replica   Proxy
	State     NodeState
	Up        []GroupInfo
	Max       int32
}

// QueryInfo reads a QueryInfo.
func (d *Decoder) QueryInfo() QueryInfo {
	q := QueryInfo{ID: d.Int32(), Coord: d.Int32(), Group: d.String(), Replica: d.Proxy()}
	q.State = NodeState(d.Enum(int(NodeNormal)))
	const groupSize = 20
	q.Up = make([]GroupInfo, d.SeqSize(groupSize))
	for i := range q.Up {
		q.Up[i] = GroupInfo{ID: d.Int32(), Generation: d.Int64(), Iteration: d.Int64()}
	}
	q.Max = d.Int32()
	return q
}

// AppendQueryInfo appends q.
func AppendQueryInfo(dst []byte, q *QueryInfo, encoding Version) []byte {
	dst = AppendInt32(AppendInt32(dst, q.ID), q.Coord)
	dst = AppendString(dst, q.Group)
	dst = AppendProxy(dst, &q.Replica, encoding)
	dst = AppendEnum(dst, int(q.State), int(NodeNormal), encoding)
	dst = AppendSize(dst, len(q.Up))
	for _, g := range q.Up {
		dst = AppendInt64(AppendInt64(AppendInt32(dst, g.ID), g.Generation), g.Iteration)
	}
	return AppendInt32(dst, q.Max)
}
