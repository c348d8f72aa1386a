package rmr

import (
	"context"
	"net"
	"time"
)

// peer is the connection to one endpoint, or the attempt to make it. As in
// the library each text is an endpoint of its own.
type peer struct {
	ready chan struct{} // closed when conn and err are set
	conn  *conn
	err   error
}

// connTo returns the connection to an endpoint and opens it if there is none;
// old tells that it was there before. Attempts are shared, and outlive ctx.
func (a *App) connTo(ctx context.Context, endpoint string) (c *conn, old bool, err error) {
	a.mu.Lock()
	if a.isClosed {
		a.mu.Unlock()
		return nil, false, ErrClosed
	}
	p := a.peers[endpoint]
	if p == nil {
		p = &peer{ready: make(chan struct{})}
		a.peers[endpoint] = p
		a.wg.Go(func() { a.dial(p, endpoint) })
	} else {
		old = true
	}
	a.mu.Unlock()
	select {
	case <-p.ready:
		return p.conn, old, p.err
	case <-ctx.Done():
		return nil, old, &Unreachable{endpoint, ctx.Err()}
	}
}

func (a *App) dial(p *peer, endpoint string) {
	ctx, cancel := a.within(a.cfg.Timeout)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", endpoint)
	a.mu.Lock()
	if err == nil {
		p.conn = &conn{nc: nc, endpoint: endpoint, lock: make(chan struct{}, 1)}
	} else {
		p.err = &Unreachable{endpoint, err}
		delete(a.peers, endpoint)
	}
	a.mu.Unlock()
	if err == nil && !a.take(p.conn) {
		p.err = ErrClosed
	}
	close(p.ready)
}

// within returns a context that ends after d, or when the App closes. Only
// what the App waits for may call it.
func (a *App) within(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	a.wg.Go(func() {
		select {
		case <-a.closed:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}
