package relay

import (
	"time"
)

// replyAge is for how long an asker is remembered.
const replyAge = time.Minute

// endpoint returns the endpoint of that name, made if need be; nil once the
// Relay is closed.
func (r *Relay) endpoint(name string) *endpoint {
	r.mu.RLock()
	e := r.endpoints[name]
	r.mu.RUnlock()
	if e != nil {
		return e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.endpoints[name]; e != nil || r.closed {
		return e
	}
	r.ids++
	e = newEndpoint(r, r.ids, name)
	e.used = r.clock.Load()
	r.endpoints[name] = e
	return e
}

// enter begins to read an accepted connection.
func (r *Relay) enter(c *inlet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.stopping.Load() {
		return false
	}
	r.ids++
	c.id = r.ids
	if !r.spawn(c.run) {
		return false
	}
	r.inlets[c.id] = c
	return true
}

// leave closes an accepted connection.
func (r *Relay) leave(c *inlet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past.add(c.close(NoSender))
	delete(r.inlets, c.id)
}

// tickEvery is how often connections are looked at.
func (r *Relay) tickEvery() time.Duration {
	return min(time.Second, r.cfg.FrameTimeout/4, r.cfg.Backoff/4)
}

func (r *Relay) tick() int64 {
	now := int64(time.Since(r.begun)) + 1 // 0 is never
	r.clock.Store(now)
	return now
}

// maintain moves the clock, ends connections that stand still in the middle
// of a frame or whose host is gone, and closes what is not used any more.
func (r *Relay) maintain() {
	ticker := time.NewTicker(r.tickEvery())
	defer ticker.Stop()
	looked := int64(0)
	for {
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			return
		}
		now := r.tick()
		r.overdue(now)
		if now-looked >= int64(min(time.Second, r.cfg.IdleTimeout)) {
			looked = now
			r.sweep()
		}
	}
}

func (r *Relay) overdue(now int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, c := range r.inlets {
		c.in.overdue(now)
	}
	for _, e := range r.endpoints {
		e.mu.Lock()
		if e.link != nil {
			e.link.overdue(now)
		}
		e.mu.Unlock()
	}
}

// sweep ends connections to hosts that are gone, and endpoints that are idle
// and that no route names.
func (r *Relay) sweep() {
	var idle []*endpoint
	r.mu.RLock()
	for _, e := range r.endpoints {
		e.mu.Lock()
		if e.link != nil {
			e.link.unheard()
		}
		if e.counts.Queued == 0 && e.idle() {
			idle = append(idle, e)
		}
		e.mu.Unlock()
	}
	for _, c := range r.inlets {
		if counts, _ := c.look(); counts.Queued > 0 {
			c.in.unheard()
		}
	}
	r.mu.RUnlock()
	if len(idle) == 0 {
		return
	}
	named := r.named()
	for _, e := range idle {
		if !named[e.name] {
			r.retire(e)
		}
	}
}

// named are the endpoints that table and map name.
func (r *Relay) named() map[string]bool {
	s := r.current.Load()
	named := map[string]bool{}
	for _, name := range s.table.Endpoints() {
		named[name] = true
	}
	owners, _ := s.meids.Owners()
	for _, name := range owners {
		named[name] = true
	}
	return named
}

// retire closes an endpoint if it is idle still.
func (r *Relay) retire(e *endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.mu.Lock()
	idle := e.counts.Queued == 0 && e.idle()
	e.mu.Unlock()
	if idle && r.endpoints[e.name] == e {
		r.past.add(e.retire(DeadEndpoint))
		delete(r.endpoints, e.name)
	}
}
