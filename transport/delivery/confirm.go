package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"floe/topics"
)

// confirmers is how many second opinions are asked for at a time.
const confirmers = 16

// confirmWithin is how long a second opinion may take. It covers a host that
// doesn't answer at all.
var confirmWithin = 10 * time.Second

// confirm asks another voter about receivers that could not be reached.
// Those at one address are asked about once.
func (p *reaper) confirm(ctx context.Context, doubts map[*Receiver]Failure) {
	byAddress := make(map[string][]*Receiver)
	for r := range doubts {
		where := r.where()
		byAddress[where] = append(byAddress[where], r)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, confirmers)
	for _, group := range byAddress {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			p.judge(ctx, group, doubts)
		})
	}
	wg.Wait()
}

// judge decides on the receivers at one address.
func (p *reaper) judge(ctx context.Context, group []*Receiver, doubts map[*Receiver]Failure) {
	limit, cancel := context.WithTimeout(ctx, confirmWithin)
	defer cancel()
	reachable, asked := p.hub.config.Confirm(limit, group[0].proxy)
	if ctx.Err() != nil {
		return
	}
	if !asked && limit.Err() != nil {
		p.doubtAgain(group, doubts)
		return
	}
	sick := asked && p.isSick()
	for _, r := range group {
		if asked && (reachable || sick) {
			p.hub.log.Info("not removed", "topic", r.name, "receiver", r.label(), "reachable_from_another_node", reachable, "this_node_is_sick", sick)
			r.pardon()
			continue
		}
		p.ripen(r, doubts[r])
	}
}

// doubtAgain asks once more later: the others did not answer in time, which
// does not mean that there are none.
func (p *reaper) doubtAgain(group []*Receiver, doubts map[*Receiver]Failure) {
	for _, r := range group {
		if r.isCondemned() {
			p.condemn(r, doubts[r])
		}
	}
}

func (p *reaper) ripen(r *Receiver, f Failure) {
	if !r.isCondemned() {
		return
	}
	p.mu.Lock()
	p.ripe[r] = f
	p.mu.Unlock()
	nudge(p.ripened)
}

// recent is how long a receiver's last success or failure tells something
// about this node.
const recent = time.Minute

// sickAtLeast is the least number of addresses a node judges itself by.
const sickAtLeast = 5

// isSick tells whether this node could not reach more than half of the
// addresses it sent to lately.
func (p *reaper) isSick() bool {
	ok, failed := p.hub.reach()
	sick := ok+failed >= sickAtLeast && failed > ok
	p.mu.Lock()
	p.sick = sick
	p.mu.Unlock()
	return sick
}

// reach counts the addresses that were reached lately, and those that were not.
func (h *Hub) reach() (ok, failed int) {
	now := h.now()
	reached := make(map[string]bool)
	for _, r := range h.receivers() {
		where, good, known := r.recently(now)
		if known {
			reached[where] = reached[where] || good
		}
	}
	for _, good := range reached {
		if good {
			ok++
		} else {
			failed++
		}
	}
	return ok, failed
}

// Problems says in words what people should look at: that this node takes
// itself for the sick one, and which links that leave the cluster are down.
func (h *Hub) Problems() []string {
	problems := h.downLinks()
	h.reaper.mu.Lock()
	sick := h.reaper.sick
	h.reaper.mu.Unlock()
	if sick && h.reaper.isSick() {
		ok, failed := h.reach()
		problems = append(problems, fmt.Sprintf("this node can't reach %d of the %d addresses it delivered to in the last minute; it takes itself for the one cut off and has no subscribers removed", failed, ok+failed))
	}
	return problems
}

func (h *Hub) downLinks() (problems []string) {
	for _, r := range h.receivers() {
		if r.link {
			problems = r.appendDown(problems)
		}
	}
	slices.Sort(problems)
	return problems
}

// appendDown appends a link's trouble, if it has any.
func (r *Receiver) appendDown(problems []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outage.Over() {
		return problems
	}
	return append(problems, fmt.Sprintf("the link from topic %q to %s is down since %s: %v", r.name, r.shown(), r.down.UTC().Format(time.RFC3339), r.lastErr))
}

// shown is a link's target as lists of links have it.
func (r *Receiver) shown() string {
	name := topics.TopicName(r.id)
	if r.id.Category == "" {
		return name
	}
	return r.id.Category + "/" + name
}

// where returns the address of a receiver, or its name where it has none yet.
func (r *Receiver) where() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whereLocked()
}

func (r *Receiver) whereLocked() string {
	if r.address == "" {
		return r.label()
	}
	return r.address
}

// recently says how the last try of the last minute went, if there was one.
func (r *Receiver) recently(now time.Time) (where string, good, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.lastOK
	if r.lastFail.After(last) {
		last = r.lastFail
	}
	known = !last.IsZero() && now.Sub(last) < recent
	return r.whereLocked(), r.lastOK.Equal(last), known
}

func (r *Receiver) isCondemned() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == condemned
}
