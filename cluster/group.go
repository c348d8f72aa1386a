package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"floe/fsm"
)

// A recovery makes a new group of a cluster. Between nodes the group goes by
// the cluster's id with a mark behind it: "UUID#1-9f3c2a10" after the first
// recovery. The identity has it in the place of the cluster id, so whatever
// keeps clusters apart keeps apart the groups before and after, too. The state
// and whoever is no node know the id alone.

// recoveredVersion is what a program must support to be in a group that was
// recovered.
const recoveredVersion = 3

// clusterOf returns the id of the cluster that a group is of.
func clusterOf(group string) string {
	id, _, _ := strings.Cut(group, "#")
	return id
}

// generation returns how often a group's cluster was recovered.
func generation(group string) uint64 {
	_, mark, _ := strings.Cut(group, "#")
	number, _, _ := strings.Cut(mark, "-")
	n, _ := strconv.ParseUint(number, 10, 32) // 0 where there is none
	return n
}

// recoveredFrom tells whether a group came from ours by a recovery.
func recoveredFrom(ours, theirs string) bool {
	return ours != "" && clusterOf(ours) == clusterOf(theirs) && generation(theirs) > generation(ours)
}

// nextGroup returns the group that a recovery makes. Survivors who name the
// same nodes get the same one; one alone gets one that nobody else has.
func nextGroup(group string, ids []string) string {
	mark := randomHex(4)
	if len(ids) > 1 {
		sum := sha256.Sum256([]byte(group + " " + strings.Join(ids, ",")))
		mark = hex.EncodeToString(sum[:4])
	}
	return fmt.Sprintf("%s#%d-%s", clusterOf(group), generation(group)+1, mark)
}

// groupMark is what Raft's connections of a recovered group begin with. Its
// first byte is no kind of request that Raft knows, so a node of the group
// before closes the connection.
func groupMark(group string) []byte {
	if generation(group) == 0 {
		return nil
	}
	return append([]byte{0xe7, byte(len(group))}, group...)
}

// marked is an accepted connection that has to begin with a mark: a node of
// the group before must not be heard, as Raft would take its term for a newer
// one and its entries for the leader's.
type marked struct {
	net.Conn
	mark []byte
	once sync.Once
	err  error
}

// Read reads what comes after the mark.
func (c *marked) Read(b []byte) (int, error) {
	c.once.Do(func() {
		got := make([]byte, len(c.mark))
		if _, c.err = io.ReadFull(c.Conn, got); c.err == nil && !bytes.Equal(got, c.mark) {
			c.err = fmt.Errorf("%s is of the group before the cluster was recovered, or of another", c.RemoteAddr())
		}
	})
	if c.err != nil {
		return 0, c.err
	}
	return c.Conn.Read(b)
}

// sendMark begins a connection.
func sendMark(conn net.Conn, mark []byte, timeout time.Duration) error {
	if mark == nil {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := conn.Write(mark); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

// outlived answers a node of a group that this one was recovered from. It is
// open, as that is another group.
func (n *Node) outlived(ctx context.Context, from string, r outlivedRequest) (belongsReply, error) {
	if !recoveredFrom(r.Group, n.clusterID()) {
		return belongsReply{}, refused(CodeOtherCluster, "this is cluster %s, not %s", n.clusterID(), r.Group)
	}
	return n.belongs(ctx, from, belongsRequest{ID: r.ID, Incarnation: r.Incarnation})
}

type outlivedRequest struct {
	Group       string `json:"group"`
	ID          string `json:"id"`
	Incarnation uint64 `json:"incarnation"`
}

// checkOutlived stops this node's Raft where its cluster was recovered without
// it: the group it is in must not go on beside the other.
func (h *half) checkOutlived(ctx context.Context, infos []nodeInfo) {
	n := h.n
	id := n.Identity()
	for _, info := range infos {
		if !recoveredFrom(id.ClusterID, info.Cluster) {
			continue
		}
		reply, err := ask[belongsReply](ctx, n, info.Address, "cluster.outlived", outlivedRequest{id.ClusterID, n.id, incarnationOf(id)})
		if err != nil || reply.Member { // it has no leader yet, or counts on this node
			n.setProblem("recovered", fmt.Sprintf("the cluster was recovered, as the node at %s shows, and this node was not: stop it; if it is one of the --members there, run the same floe recover on %s", info.Address, n.cfg.DataDir))
			continue
		}
		n.log.Warn("the cluster was recovered without this node", "seen at", info.Address, "group", info.Cluster)
		n.setProblem("recovered", "")
		h.removed()
		return
	}
}

// mayEnter refuses a program that can't be in a group that was recovered.
func (n *Node) mayEnter(r joinRequest) error {
	if generation(n.clusterID()) == 0 || r.Supports >= recoveredVersion {
		return nil
	}
	return refused(CodeVersion, "the cluster was recovered, and node %s has a program that knows nothing of that (it supports cluster version %d of %d); run a newer program", r.ID, r.Supports, fsm.ProgramVersion)
}
