package main

import (
	"context"
	"time"

	"floe/cluster"
	"floe/fsm"
)

var (
	nodeInfo       = gauge("floe_node_info", "1 for this node: its id, its cluster, and the version of its program.", "node", "cluster", "version")
	appliedIndex   = gauge("floe_applied_index", "Raft index this node's copy stands at.")
	topicsCount    = gauge("floe_topics", "Topics in the graph.")
	linksCount     = gauge("floe_links", "Links in the graph.")
	subscriptions  = gauge("floe_subscriptions", "Subscriptions in the graph.")
	routesCount    = gauge("floe_routes", "Entries of the route table.")
	meidsCount     = gauge("floe_meids", "MEIDs in the MEID map.")
	routesVersion  = gauge("floe_routes_version", "Raft index of the last change of routes or MEIDs, 0 where there was none.")
	membersCount   = gauge("floe_members", "Nodes that made themselves known.")
	votersCount    = gauge("floe_voters", "Nodes that count for quorum.")
	clusterVersion = gauge("floe_cluster_version", "The cluster version.")

	leaderFlag     = gauge("floe_leader", "1 on the leader, else 0.")
	readyFlag      = gauge("floe_ready", "1 once caught up with a leader, else 0.")
	leaderContact  = gauge("floe_leader_contact_seconds", "How long ago the leader was heard.")
	leaderChanges  = counter("floe_leader_changes_total", "Leaders this node saw come, one that came again included.")
	raftState      = gauge("floe_raft_state", "1 for the state of Raft: follower, candidate, leader or stopped.", "state")
	raftTerm       = gauge("floe_raft_term", "Raft term.")
	raftLast       = gauge("floe_raft_last_index", "Raft index of the last entry in the log.")
	raftCommit     = gauge("floe_raft_commit_index", "Raft index that is known to be committed.")
	raftApplied    = gauge("floe_raft_applied_index", "Raft index that Raft has applied.")
	raftSnapshot   = gauge("floe_raft_snapshot_index", "Raft index of the newest snapshot, 0 for none.")
	nodeAlive      = gauge("floe_node_alive", "1 for a node that gossip holds to be alive, else 0.", "node")
	gossipHealth   = gauge("floe_gossip_health_score", "0 while this node hears the others in time; it grows to 8 the worse that goes.")
	gossipAlive    = gauge("floe_gossip_members", "Nodes that gossip holds to be alive, this one included.")
	storeBytes     = gauge("floe_store_bytes", "Size of the log's database file.")
	storeFree      = gauge("floe_store_free_pages", "Pages of the log's database that can be used again.")
	storeFreeBytes = gauge("floe_store_free_bytes", "Bytes of the log's database that can be used again.")
	storePending   = gauge("floe_store_pending_pages", "Pages of the log's database that can be used again once open reads end.")
	storeOpenReads = gauge("floe_store_open_reads", "Reads of the log's database that are under way.")
	storeWrites    = counter("floe_store_writes_total", "Writes to the log's database file.")
	storeWriteTime = counter("floe_store_write_seconds_total", "How long these writes took, with the flushes to the disk.")
	storeStalled   = gauge("floe_store_stalled_seconds", "For how long the oldest disk operation has been running, 0 where none is.")
	storeFailed    = gauge("floe_store_failed", "1 once the disk failed, which ends this node's part in the cluster, else 0.")
)

var (
	diskFree     = gauge("floe_disk_free_bytes", "Bytes that may still be written on the file system of the data directory.")
	diskReserve  = gauge("floe_disk_reserve_bytes", "Bytes of it that are kept in reserve: below, changes are refused.")
	diskFull     = gauge("floe_disk_full", "1 while changes are refused for want of space, else 0.")
	stateDiffers = gauge("floe_state_differs", "1 once this node's state was found to differ from that of the others, else 0.")
)

// standing is how a node stands to its leader.
type standing struct {
	leads, ready bool
	// contact is how long ago the leader was heard, if it ever was.
	contact time.Duration
	ever    bool
	changes uint64
}

func (n *node) standing() standing {
	s := standing{leads: n.cluster.IsLeader(), ready: n.cluster.Ready() == nil, changes: n.leaders.Load()}
	s.contact, s.ever = n.cluster.LastContact()
	return s
}

func (s samples) graph(v *fsm.View, sizes graphSizes, id string) {
	s.put(nodeInfo, 1, id, v.ClusterID, programVersion())
	s.put(appliedIndex, float64(v.Index))
	s.put(topicsCount, float64(v.Graph.Len()))
	s.put(linksCount, float64(sizes.links))
	s.put(subscriptions, float64(sizes.subscriptions))
	s.put(routesCount, float64(v.Routes.State().Table.Len()))
	s.put(meidsCount, float64(v.Routes.State().MEIDs.Len()))
	s.put(routesVersion, float64(v.Routes.Version))
	s.put(membersCount, float64(len(v.Members)))
	s.put(votersCount, float64(v.Voters()))
	s.put(clusterVersion, float64(v.Version))
}

func (s samples) raft(f cluster.Figures, at standing) {
	s.put(leaderFlag, yesNo(at.leads))
	s.put(readyFlag, yesNo(at.ready))
	if at.ever {
		s.put(leaderContact, at.contact.Seconds())
	}
	s.put(leaderChanges, float64(at.changes))
	s.put(raftState, 1, f.State)
	s.put(raftTerm, float64(f.Term))
	s.put(raftLast, float64(f.LastIndex))
	s.put(raftCommit, float64(f.CommitIndex))
	s.put(raftApplied, float64(f.AppliedIndex))
	s.put(raftSnapshot, float64(f.SnapshotIndex))
	s.put(gossipAlive, float64(f.Alive))
	s.put(gossipHealth, float64(f.GossipHealth))
	for id, alive := range f.Nodes {
		s.put(nodeAlive, yesNo(alive), id)
	}
}

func (s samples) store(f cluster.Figures) {
	s.put(storeBytes, float64(f.FileBytes))
	s.put(storeFree, float64(f.FreePages))
	s.put(storeFreeBytes, float64(f.FreeBytes))
	s.put(storePending, float64(f.PendingPages))
	s.put(storeOpenReads, float64(f.OpenReads))
	s.put(storeWrites, float64(f.Writes))
	s.put(storeWriteTime, f.WriteTime.Seconds())
	s.put(storeStalled, f.Stalled.Seconds())
	s.put(storeFailed, yesNo(f.Failed))
	s.put(diskFree, float64(f.Free))
	s.put(diskReserve, float64(f.Reserve))
	s.put(diskFull, yesNo(f.Full))
	s.put(stateDiffers, yesNo(f.Differs))
}

// countLeaders counts, until ctx ends, how often a leader comes.
func (n *node) countLeaders(ctx context.Context) error {
	last := ""
	for ctx.Err() == nil {
		changed := n.cluster.LeaderChanged()
		now := n.cluster.LeaderID()
		if now != "" && now != last {
			n.leaders.Add(1)
		}
		last = now
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}
