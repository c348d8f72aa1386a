package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"floe/cluster/logstore"
)

// founding is what the identity's PromisedTo says of a node that founds its cluster.
const founding = "founding"

// checkStart looks, before a node with data takes part, whether another
// process has its id, and whether the join list leads to another cluster.
func (n *Node) checkStart(ctx context.Context) error {
	id := n.Identity()
	if id.State != logstore.Member && id.State != logstore.Joining {
		return nil
	}
	if m, known := n.View().Member(n.id); known && m.Address("peer") != n.cfg.Network.Address {
		if err := n.doubleAt(ctx, m.Address("peer")); err != nil {
			return err
		}
	}
	if len(n.cfg.Join) == 0 {
		return n.checkAge(ctx)
	}
	var other error
	for _, g := range n.greet(ctx, n.cfg.Join) {
		if g.err != nil || g.info.Cluster == "" || recoveredFrom(g.info.Cluster, id.ClusterID) {
			continue
		}
		if g.info.Cluster == id.ClusterID {
			if n.isDouble(g.info) {
				return &DuplicateID{ID: n.id, Address: g.address, Dir: n.cfg.DataDir, Detail: " which is running"}
			}
			return n.checkAge(ctx)
		}
		other = &OtherCluster{Node: n.id, Dir: n.cfg.DataDir, Ours: id.ClusterID, Theirs: g.info.Cluster, Address: g.address}
	}
	if other != nil {
		return other
	}
	return n.checkAge(ctx)
}

// checkAge refuses to start on an older copy of the data, where others that
// answer know better. See vouch.
func (n *Node) checkAge(ctx context.Context) error {
	ids, need := n.vouchers()
	n.askVouchers(ctx, ids, need)
	select {
	case err := <-n.fatal:
		return err
	default:
		return nil
	}
}

// begin takes a fresh node to a cluster: one of its own, or that of the join list.
func (n *Node) begin(ctx context.Context) error {
	if len(n.cfg.Join) == 0 {
		return n.found()
	}
	wait := lookSoon
	for tries := 1; ctx.Err() == nil; tries++ {
		done, err := n.tryBegin(ctx, tries)
		if done || err != nil {
			return err
		}
		select {
		case j := <-n.joins:
			j.done <- n.adopt(j.accepted)
			return nil
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, lookLater)
	}
	return nil
}

func (n *Node) tryBegin(ctx context.Context, tries int) (done bool, err error) {
	all := n.greet(ctx, n.cfg.Join)
	infos := answered(all)
	if err := n.namesake(infos); err != nil {
		return false, err
	}
	problem := n.describe(all, tries)
	defer func() {
		if !done && err == nil {
			n.setProblem("join", problem)
		}
	}()
	for _, info := range infos {
		if info.Cluster == "" || info.State != logstore.Member {
			continue
		}
		accepted, err := n.requestJoin(ctx, info.Address, 0, "")
		if err == nil {
			return true, n.adopt(accepted)
		}
		if final := n.finalRefusal(err, info.Address); final != nil {
			return false, final
		}
		problem = fmt.Sprintf("can't join through %s yet: %v", info.Address, err)
	}
	return n.tryFound(ctx, infos)
}

// namesake refuses to begin where another process has our id.
func (n *Node) namesake(infos []nodeInfo) error {
	for _, info := range infos {
		ours := time.Since(n.started).Milliseconds()
		older := info.Uptime > ours || info.Uptime == ours && info.Nonce < n.nonce
		if info.ID == n.id && (info.State == logstore.Member || older) {
			return &DuplicateID{ID: n.id, Address: info.Address, Dir: n.cfg.DataDir, Detail: " which is running"}
		}
	}
	return nil
}

// patientTries is how many times a node whose join list answers tries before
// it calls it a problem that none of them is in a cluster: about 3 s.
const patientTries = 7

// describe says in words why the node is not in a cluster yet, "" while
// that is nothing to worry about.
func (n *Node) describe(all []greeting, tries int) string {
	if len(all) == 0 {
		return fmt.Sprintf("in no cluster yet: the join list names only this node itself (%s); stop it and start it with --join HOST:PORT of another node, or without --join to found a cluster of its own",
			strings.Join(n.cfg.Join, ", "))
	}
	var silent []string
	for _, g := range all {
		if g.err != nil {
			silent = append(silent, g.address+" ("+whySilent(g.err)+")")
		}
	}
	if len(silent) == 0 && tries < patientTries {
		return ""
	}
	text := "in no cluster yet, trying again"
	if len(silent) > 0 {
		text += "; no answer from " + strings.Join(silent, ", ")
	}
	switch here := len(all) - len(silent); {
	case n.cfg.BootstrapExpect > 0:
		text += fmt.Sprintf("; here so far: %d of the %d nodes that --bootstrap-expect waits for", here+1, n.cfg.BootstrapExpect)
	case here > 0:
		text += fmt.Sprintf("; %d of the nodes named answered, none is in a cluster", here)
	}
	for _, g := range all {
		if ours := n.cfg.BootstrapExpect; g.err == nil && g.info.Expect != 0 && ours != 0 && g.info.Expect != ours {
			text += fmt.Sprintf("; node %s has --bootstrap-expect %d and this one %d, and they have to be equal", g.info.ID, g.info.Expect, ours)
		}
	}
	return text
}

// finalRefusal returns the error that ends a fresh node, nil where trying
// again may help.
func (n *Node) finalRefusal(err error, address string) error {
	switch codeOf(err) {
	case CodeDuplicate:
		return &DuplicateID{ID: n.id, Dir: n.cfg.DataDir, Detail: howTaken(err)}
	case CodeVersion, CodeOtherCluster:
		return fmt.Errorf("node %q, data directory %s: %s refused: %w", n.id, n.cfg.DataDir, address, err)
	}
	return nil
}

// found makes this node the first of a new cluster. Raft itself begins in
// prepareLog, as often as it takes.
func (n *Node) found() error {
	cluster := newUUID()
	n.setProblem("join", "")
	n.log.Info("founding a cluster", "cluster", cluster)
	return n.updateIdentity(func(id *logstore.Identity) {
		id.ClusterID, id.State, id.Incarnation, id.PromisedTo = cluster, logstore.Joining, "1", founding
	})
}

// adopt makes this node one that a cluster has accepted. Old Raft data goes:
// the identity says "left" in between, which needs none.
func (n *Node) adopt(a joinReply) error {
	if n.Identity().State != logstore.New {
		err := n.updateIdentity(func(id *logstore.Identity) { id.State, id.VoteTerm, id.CommitIndex = logstore.Left, 0, 0 })
		if err != nil {
			return err
		}
	}
	if err := n.wipe(); err != nil {
		return fmt.Errorf("clear data directory %s: %w", n.cfg.DataDir, err)
	}
	n.book.told(a.Addresses)
	n.setProblem("join", "")
	n.setProblem("idle", "")
	n.log.Info("accepted by a cluster", "cluster", a.Cluster, "incarnation", a.Incarnation)
	return n.updateIdentity(func(id *logstore.Identity) {
		*id = logstore.Identity{
			ClusterID: a.Cluster, NodeID: n.id, State: logstore.Joining,
			Incarnation: strconv.FormatUint(a.Incarnation, 10),
		}
	})
}

// enrol has the leader add a joining node to the group, until it is in.
func (h *half) enrol(ctx context.Context) {
	n := h.n
	wait := lookSoon
	for id := n.Identity(); id.State == logstore.Joining && id.PromisedTo != founding; id = n.Identity() {
		err := n.requestEntry(ctx, incarnationOf(id))
		if ctx.Err() != nil {
			return
		}
		if codeOf(err) == CodeDuplicate {
			n.end(&DuplicateID{ID: n.id, Dir: n.cfg.DataDir, Detail: howTaken(err)})
			return
		}
		if err != nil {
			n.setProblem("join", "can't enter the cluster yet: "+err.Error())
		} else {
			n.setProblem("join", "")
		}
		changed := n.poke.next()
		if n.Identity().State != logstore.Joining {
			return
		}
		select {
		case <-changed:
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, lookLater)
	}
}

// requestEntry asks everybody known, in turn, until one has it done.
func (n *Node) requestEntry(ctx context.Context, incarnation uint64) error {
	err := error(fmt.Errorf("no member's address is known"))
	places := n.places()
	slices.Sort(places)
	for _, address := range places {
		var reply joinReply
		if reply, err = n.requestJoin(ctx, address, incarnation, n.clusterID()); err == nil {
			n.book.told(reply.Addresses)
			return nil
		}
		if codeOf(err) == CodeDuplicate {
			return err
		}
	}
	return err
}

// idle waits, without Raft, for an order to join.
func (n *Node) idle(ctx context.Context) error {
	n.setProblem("idle", n.errOutOfService().Error())
	select {
	case j := <-n.joins:
		err := n.adopt(j.accepted)
		j.done <- err
		return err
	case err := <-n.fatal:
		return err
	case <-ctx.Done():
		return nil
	}
}
