package rmrapp

import (
	"context"
	"sync"
)

// gate holds up goroutines while it is shut. The zero value is open.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil: open
}

// set opens or shuts the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.opened == nil:
		g.opened = make(chan struct{})
	case !shut && g.opened != nil:
		close(g.opened)
		g.opened = nil
	}
}

// pass returns when the gate is open, or the error of ctx.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		if opened == nil {
			return ctx.Err()
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
