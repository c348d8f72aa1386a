package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// retryPause is how long a proposal that found no leader where it looked
// waits before it looks again, unless the leader changes first.
const retryPause = 20 * time.Millisecond

// Propose has the cluster apply a change, and returns once this node's View
// has it. Any node may be asked: the leader is found, also over an election,
// until ctx ends (DefaultTimeout where it has no deadline), and the change is
// applied once. from says who asked, for people.
//
// Errors: *fsm.Refusal, *[NoQuorum] and *[Refused] with [CodeNoSpace] say that
// nothing was changed, and never will be; *[Unknown] that nobody knows. Others (an encoding error, or a
// ctx that was over) happen before anything is sent.
func (n *Node) Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if err := n.space.room(); err != nil { // it could be made, but not reach this node's own copy
		return fsm.Result{}, refused(CodeNoSpace, "node %s: %v", n.id, err)
	}
	p := &proposal{n: n, command: fsm.Command{
		Request: newRequestID(), Base: n.View().Index, Time: time.Now().UnixNano(), From: from, Op: op,
	}}
	result, err := p.run(ctx)
	if err != nil {
		return fsm.Result{}, err
	}
	if errors.Is(result.Err(), fsm.ErrForgotten) {
		return fsm.Result{}, &Unknown{Cause: result.Err()}
	}
	if _, err := n.state.Wait(ctx, result.Index); err != nil {
		return result, n.notCaughtUp(result, err)
	}
	return result, result.Err()
}

// notCaughtUp is the error of a change that was made while this node's own
// copy does not come along.
func (n *Node) notCaughtUp(r fsm.Result, err error) error {
	if r.Refused != nil {
		return r.Err()
	}
	return &Unknown{Cause: fmt.Errorf("it was made at index %d, but node %s has not caught up: %w", r.Index, n.id, err)}
}

// proposal is one change under way. Once command.Repeat is set, it may be in
// a log somewhere.
type proposal struct {
	n       *Node
	command fsm.Command
	last    error
	noRoom  time.Time // since when leaders say that there is no room
}

func (p *proposal) run(whole context.Context) (fsm.Result, error) {
	ctx, cancel := p.n.leaveTimeToAsk(whole)
	defer cancel()
	asked := time.Now()
	for {
		changed := p.n.leaders.changed.next()
		leader, err := p.n.awaitLeader(ctx, asked)
		if err != nil {
			return fsm.Result{}, p.giveUp(ctx, err)
		}
		result, err := p.at(ctx, leader)
		if err == nil {
			return result, nil
		}
		p.last = err
		if !p.again(err) {
			return fsm.Result{}, p.refused(err)
		}
		if !waitFor(ctx, changed, retryPause) {
			return fsm.Result{}, p.giveUp(ctx, nil)
		}
	}
}

// again tells whether to try once more after an error, and notes that the
// outcome is in doubt.
func (p *proposal) again(err error) bool {
	var encoding *encodingError
	switch code := codeOf(err); {
	case code == CodeNoSpace:
		return p.waitsForRoom()
	case code == codeNotLeader, code == CodeOtherCluster, notSent(err):
		return true
	case code == codeInvalid, code == CodeUnknownMethod, errors.As(err, &encoding):
		return false
	}
	p.command.Repeat = true
	return true
}

// refused is the error of a proposal that its last leader refuses: it decides
// nothing where an earlier one may have the command in its log.
func (p *proposal) refused(err error) error {
	if p.command.Repeat {
		return &Unknown{Cause: err}
	}
	return err
}

// waitsForRoom tells whether the leader may yet hand over to a node with room.
func (p *proposal) waitsForRoom() bool {
	if p.noRoom.IsZero() {
		p.noRoom = time.Now()
	}
	return len(p.n.voters()) > 1 && time.Since(p.noRoom) < p.n.cfg.Timing.noLeaderAfter()
}

// giveUp is the error of a proposal that found no leader, or ran out of time
// (err nil).
func (p *proposal) giveUp(ctx context.Context, err error) error {
	switch {
	case !p.command.Repeat && codeOf(p.last) == CodeNoSpace:
		return p.last
	case !p.command.Repeat && err == nil:
		return p.n.outOfTime(ctx, p.last)
	case !p.command.Repeat:
		return err
	case err == nil:
		err = ctx.Err()
	}
	return &Unknown{Cause: fmt.Errorf("%v; %w", p.last, err)}
}

// at proposes at one node.
func (p *proposal) at(ctx context.Context, leader string) (fsm.Result, error) {
	data, err := p.command.Encode()
	if err != nil {
		return fsm.Result{}, &encodingError{err}
	}
	if leader == p.n.id {
		return p.n.applyHere(ctx, p.command.Op, data)
	}
	ctx, cancel := p.n.leaders.during(ctx, leader)
	defer cancel()
	reply, err := p.n.Call(ctx, leader, "cluster.propose", data)
	if err != nil {
		return fsm.Result{}, err
	}
	return fsm.DecodeResult(reply)
}

type encodingError struct{ error }

func (e *encodingError) Unwrap() error { return e.error }

// propose answers a node that forwards a change.
func (n *Node) propose(ctx context.Context, _ string, data []byte) ([]byte, error) {
	c, err := fsm.DecodeCommand(data)
	if err != nil {
		return nil, refused(codeInvalid, "%v", err)
	}
	result, err := n.applyHere(ctx, c.Op, data)
	if err != nil {
		return nil, err
	}
	return result.Encode()
}

// applyHere hands a command to this node's Raft. Errors: errNotLeader (never
// handed over), codeUnknown, codeInvalid.
func (n *Node) applyHere(ctx context.Context, op fsm.Op, data []byte) (fsm.Result, error) {
	h := n.half.Load()
	if h == nil || h.raft.State() != raft.Leader {
		return fsm.Result{}, errNotLeader
	}
	if _, first := op.(fsm.Init); !first && n.View().ClusterID == "" {
		return fsm.Result{}, errNotLeader // not yet: the cluster is being founded
	}
	if halt := n.state.Halted(); halt != nil {
		return fsm.Result{}, refused(codeNotLeader, "node %s leads, but %v", n.id, halt)
	}
	if err := h.checkRoom(len(data)); err != nil {
		return fsm.Result{}, err
	}
	if _, err := n.View().Try(op); err != nil {
		return fsm.Result{}, refused(codeInvalid, "refused: it would halt every node: %v", err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(DefaultTimeout)
	}
	if ackBeforeCommit {
		h.raft.Apply(data, time.Second)
		return n.View().Try(op)
	}
	future, err := h.await(ctx, func() raft.Future { return h.raft.Apply(data, max(time.Until(deadline), time.Millisecond)) })
	if err != nil {
		if notHanded(err) {
			return fsm.Result{}, errNotLeader
		}
		return fsm.Result{}, refused(codeUnknown, "%v", err)
	}
	return resultOf(future.(raft.ApplyFuture).Response())
}

func resultOf(response any) (fsm.Result, error) {
	switch r := response.(type) {
	case fsm.Result:
		return r, nil
	case *fsm.Halt:
		return fsm.Result{}, refused(codeUnknown, "%v", r)
	}
	return fsm.Result{}, refused(codeUnknown, "no answer from the state")
}

// notHanded tells the errors of Raft that say that a request never got into
// its log. ErrRaftShutdown is not among them: it comes for both.
func notHanded(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) || errors.Is(err, raft.ErrEnqueueTimeout)
}

// waitFor waits until the channel is closed, or for a time, and tells
// whether ctx is still good.
func waitFor(ctx context.Context, ch <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}

// awaitLeader returns the leader's id. Without one it waits as long as an
// election may take from when the leader was lost, and one election time-out
// from asked at least, then counts: it returns a *NoQuorum, or, where a
// majority answers and an election only takes long, waits on, 5 s in all.
// A leader lost late, as --timing wan may notice it, prolongs nothing.
func (n *Node) awaitLeader(ctx context.Context, asked time.Time) (string, error) {
	t := n.cfg.Timing
	var more time.Duration
	for {
		changed, poked := n.leaders.changed.next(), n.poke.next()
		leader, _, lost := n.leaders.get()
		if leader != "" {
			return leader, nil
		}
		until := later(lost.Add(t.noLeaderAfter()), asked.Add(t.Election))
		until = earlier(until, asked.Add(DefaultTimeout-answerMargin-t.askTime())).Add(more)
		if n.half.Load() == nil && !n.startsSoon() {
			return "", n.noQuorum(ctx)
		}
		if !time.Now().Before(until) {
			q := n.noQuorum(ctx)
			if 2*q.Reachable <= q.Voters || time.Since(later(lost, asked)) > DefaultTimeout-2*t.askTime() {
				return "", q
			}
			more += t.Election
			continue
		}
		select {
		case <-changed:
		case <-poked:
		case <-time.After(time.Until(until)):
		case <-ctx.Done():
			return "", n.outOfTime(ctx, nil)
		}
	}
}

// startsSoon tells whether a node without a Raft half is about to have one.
func (n *Node) startsSoon() bool {
	id := n.Identity()
	founds := id.PromisedTo == founding || id.State == logstore.New && len(n.cfg.Join) == 0
	return n.stopped() == nil && (founds || id.State == logstore.Member)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// outOfTime is the error of an operation whose ctx ended before it was handed
// to Raft. last says what went wrong on the way; may be nil.
func (n *Node) outOfTime(ctx context.Context, last error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	q := n.noQuorum(context.WithoutCancel(ctx))
	if last != nil && q.Reason == "" && n.LeaderID() != "" { // there is one, but not for us
		q.Reason = last.Error()
	}
	return q
}

// leaveTimeToAsk returns a context that ends so much earlier that there is
// time left to count who can be reached, and to answer.
func (n *Node) leaveTimeToAsk(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	ask := n.cfg.Timing.askTime()
	if !ok || time.Until(deadline) < 3*ask {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-ask-answerMargin))
}

// noQuorum counts who can be reached.
func (n *Node) noQuorum(ctx context.Context) *NoQuorum {
	_, last, _ := n.leaders.get()
	q := &NoQuorum{LastLeader: last}
	voters := n.voters()
	reachable := n.askAround(ctx, voters)
	if n.half.Load() == nil {
		q.Reason = n.errOutOfService().Error()
		delete(reachable, n.id) // it does not vote
	}
	q.Voters, q.Reachable = len(voters), len(reachable)
	return q
}

// voters are the ids of the nodes that count: as Raft has them, for after a
// restart the View may be older; without Raft as the View has them.
func (n *Node) voters() []string {
	var ids []string
	h := n.half.Load()
	if h == nil {
		for _, s := range n.View().Servers {
			if s.Voter {
				ids = append(ids, s.ID)
			}
		}
		return ids
	}
	for _, s := range h.servers() {
		if s.Suffrage == raft.Voter {
			ids = append(ids, string(s.ID))
		}
	}
	return ids
}
