package relay

import (
	"context"
	"time"
)

// drainPoll is how often Shutdown looks whether the queues are empty.
const drainPoll = 5 * time.Millisecond

// Shutdown stops to accept connections, forwards what senders have handed to
// the system so far, waits until the queues are empty or ctx ends, and closes
// everything. What is left in queues then is counted as dropped, and the
// error is that of ctx.
func (r *Relay) Shutdown(ctx context.Context) error {
	r.stopListening()
	err := r.drained(ctx)
	r.close()
	r.cancel()
	r.life.Lock()
	r.dead = true
	r.life.Unlock()
	r.wg.Wait()
	return err
}

// stopListening closes the listeners, and has the readers of connections end
// once they have read what is there.
func (r *Relay) stopListening() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping.Store(true)
	for _, ln := range r.listeners {
		_ = ln.socket.Close()
	}
	for _, c := range r.inlets {
		if tcp, ok := c.in.nc.(interface{ CloseRead() error }); ok {
			_ = tcp.CloseRead()
		}
	}
}

func (r *Relay) drained(ctx context.Context) error {
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for !r.empty() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// empty tells whether nothing is read any more and nothing queued.
func (r *Relay) empty() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.endpoints {
		if counts, _ := e.look(); counts.Queued > 0 {
			return false
		}
	}
	return len(r.inlets) == 0
}

// close closes all connections.
func (r *Relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for name, e := range r.endpoints {
		r.past.add(e.retire(Stopped))
		delete(r.endpoints, name)
	}
	for _, c := range r.inlets {
		c.in.close() // its reader does the rest
	}
}
