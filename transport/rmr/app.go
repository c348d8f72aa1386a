package rmr

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// App is one RMR application. Its methods may be called by several
// goroutines at once.
type App struct {
	cfg    Config
	queue  chan *Received
	queued atomic.Int64 // bytes in queue
	closed chan struct{}
	wg     sync.WaitGroup

	received, dropped, refused, late atomic.Uint64

	mu       sync.Mutex
	isClosed bool
	conns    map[*conn]struct{}
	accepted int
	peers    map[string]*peer
	calls    map[[32]byte]chan *Received
}

// Stats counts what became of what arrived since the App was made.
type Stats struct {
	// Received messages went into the queue; Dropped ones found it full.
	Received, Dropped uint64
	// Refused is how many connections were closed for bytes that are no
	// frame, for a frame that did not end in time, or because there were too many.
	Refused uint64
	// Late is how many answers nobody waited for any more.
	Late uint64
}

// New makes an App and starts to accept connections. Close it after use.
func New(cfg Config) *App {
	a := &App{
		cfg:    cfg.filled(),
		closed: make(chan struct{}),
		conns:  map[*conn]struct{}{},
		peers:  map[string]*peer{},
		calls:  map[[32]byte]chan *Received{},
	}
	a.queue = make(chan *Received, a.cfg.Queue)
	if a.cfg.Listener != nil {
		a.wg.Go(a.accept)
	}
	return a
}

// Stats returns the counters.
func (a *App) Stats() Stats {
	return Stats{a.received.Load(), a.dropped.Load(), a.refused.Load(), a.late.Load()}
}

// Close closes the listener and all connections, and returns when everything
// the App started has ended. Messages that were not received are lost.
func (a *App) Close() {
	a.mu.Lock()
	if !a.isClosed {
		a.isClosed = true
		close(a.closed)
		if a.cfg.Listener != nil {
			_ = a.cfg.Listener.Close()
		}
		for c := range a.conns {
			_ = c.nc.Close()
		}
	}
	a.mu.Unlock()
	a.wg.Wait()
}

// acceptPause is how long accepting rests after an error, such as one about
// too many open files.
const acceptPause = 50 * time.Millisecond

func (a *App) accept() {
	for {
		nc, err := a.cfg.Listener.Accept()
		if err == nil {
			a.take(&conn{nc: nc, lock: make(chan struct{}, 1)})
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		a.cfg.Log.Warn("can't accept a connection", "error", err)
		select {
		case <-time.After(acceptPause):
		case <-a.closed:
			return
		}
	}
}

// take begins to read a connection, or closes it if it is one too many.
func (a *App) take(c *conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	incoming := c.endpoint == ""
	if full := incoming && a.accepted >= a.cfg.Conns; full || a.isClosed {
		if full {
			a.refused.Add(1)
		}
		_ = c.nc.Close()
		return false
	}
	if incoming {
		a.accepted++
	}
	c.keepAlive()
	a.conns[c] = struct{}{}
	a.wg.Go(func() { a.read(c) })
	return true
}

// drop closes a connection and forgets it; it may be called again.
func (a *App) drop(c *conn) {
	_ = c.nc.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.conns[c]; !ok {
		return
	}
	delete(a.conns, c)
	if c.endpoint == "" {
		a.accepted--
	} else if p := a.peers[c.endpoint]; p != nil && p.conn == c {
		delete(a.peers, c.endpoint)
	}
}
