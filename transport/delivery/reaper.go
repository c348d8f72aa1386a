package delivery

import (
	"context"
	"strings"
	"sync"
	"time"

	"floe/fsm"
)

// reaper has dead receivers removed from the replicated state. A receiver
// that could not be reached is first looked at from another node.
//
// Lock order: a receiver's lock comes before the reaper's.
type reaper struct {
	hub *Hub

	mu     sync.Mutex
	doubts map[*Receiver]Failure // wait for a second opinion
	ripe   map[*Receiver]Failure // to be proposed
	sick   bool

	doubted, ripened chan struct{} // something was added
}

func newReaper(h *Hub) *reaper {
	return &reaper{
		hub: h, doubts: make(map[*Receiver]Failure), ripe: make(map[*Receiver]Failure),
		doubted: make(chan struct{}, 1), ripened: make(chan struct{}, 1),
	}
}

// condemn takes up a receiver whose retries are used up.
func (p *reaper) condemn(r *Receiver, f Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.Class == Unreachable && p.hub.config.Confirm != nil {
		p.doubts[r] = f
		nudge(p.doubted)
		return
	}
	p.ripe[r] = f
	nudge(p.ripened)
}

// withdraw forgets a receiver: it works again, or is closed.
func (p *reaper) withdraw(r *Receiver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.doubts, r)
	delete(p.ripe, r)
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// retryProposal is the wait after a proposal that failed, for lack of quorum.
const retryProposal = time.Second

func (p *reaper) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { p.each(ctx, p.doubted, &p.doubts, p.confirm) })
	p.each(ctx, p.ripened, &p.ripe, p.propose)
	wg.Wait()
}

// each gathers what is added to a set for a moment and then works it off.
func (p *reaper) each(ctx context.Context, added chan struct{}, set *map[*Receiver]Failure, work func(context.Context, map[*Receiver]Failure)) {
	for {
		select {
		case <-added:
		case <-ctx.Done():
			return
		}
		rest(ctx, p.hub.config.ReapEvery)
		if taken := p.take(set, added); len(taken) > 0 && ctx.Err() == nil {
			work(ctx, taken)
		}
	}
}

// maxVerdicts is the most removals in one proposal.
const maxVerdicts = 1000

// take empties a set, up to maxVerdicts of it.
func (p *reaper) take(set *map[*Receiver]Failure, added chan struct{}) map[*Receiver]Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := make(map[*Receiver]Failure, min(len(*set), maxVerdicts))
	for r, f := range *set {
		if len(taken) == maxVerdicts {
			nudge(added)
			break
		}
		taken[r] = f
		delete(*set, r)
	}
	return taken
}

// propose has receivers removed. Those whose proposal failed go on trying to
// deliver, and are proposed again unless they succeed.
func (p *reaper) propose(ctx context.Context, ripe map[*Receiver]Failure) {
	op := fsm.Reap{Verdicts: make([]fsm.Verdict, 0, len(ripe))}
	for r, f := range ripe {
		op.Verdicts = append(op.Verdicts, fsm.Verdict{Topic: r.topic, Identity: r.id, Serial: r.serial, Reason: reasonText(f)})
	}
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	result, err := p.hub.group.Propose(limit, op, "delivery")
	if err != nil {
		p.hub.log.Warn("dead receivers could not be removed, trying again", "receivers", len(ripe), "error", err)
		p.postpone(ripe)
		time.AfterFunc(retryProposal, func() { nudge(p.ripened) })
		return
	}
	for r, f := range ripe {
		p.hub.log.Info("dead receiver removed", "topic", r.name, "receiver", r.label(), "link", r.link, "reason", f.Err, "index", result.Index)
	}
}

// postpone keeps verdicts for the next proposal. A receiver that is not gone
// for good retries meanwhile.
func (p *reaper) postpone(ripe map[*Receiver]Failure) {
	p.mu.Lock()
	for r, f := range ripe {
		p.ripe[r] = f
	}
	p.mu.Unlock()
	for r, f := range ripe {
		if f.Class != Hard {
			r.pardon()
		}
	}
}

func reasonText(f Failure) string {
	if f.Err == nil {
		return ""
	}
	const longest = 200
	text := f.Err.Error()
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
