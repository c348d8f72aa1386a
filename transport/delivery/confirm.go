package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// confirmers is how many second opinions are asked for at a time.
const confirmers = 16

// confirmWithin is how long a second opinion may take. It covers a host that
// doesn't answer at all.
const confirmWithin = 10 * time.Second

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

// Problems says in words what keeps this node from removing dead receivers;
// empty where nothing does.
func (h *Hub) Problems() []string {
	h.reaper.mu.Lock()
	sick := h.reaper.sick
	h.reaper.mu.Unlock()
	if !sick {
		return nil
	}
	ok, failed := h.reach()
	if failed <= ok {
		h.reaper.isSick()
		return nil
	}
	return []string{fmt.Sprintf("this node can't reach %d of the %d addresses it delivered to in the last minute; it takes itself for the one cut off and has no subscribers removed", failed, ok+failed)}
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
