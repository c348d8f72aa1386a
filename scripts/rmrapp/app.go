package rmrapp

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"floe/routing"
)

// App is one simulated application. Its methods may be called by several
// goroutines at once, except Restart and Close, which end calls of others.
type App struct {
	cfg    Config
	life   gate // shut: it is paused
	ears   gate // shut: it reads nothing
	answer atomic.Int32
	number atomic.Int64 // of the newest connection
	queue  *queue
	calls  calls

	mu      sync.Mutex
	changes chan struct{}
	events  []*Event
	faults  []Fault
	stats   Stats
	starts  int
	live    *incarnation
}

// incarnation is an App from one start to the next.
type incarnation struct {
	app           *App
	number        int
	data, control *port
	life          context.Context // ends when the App does
	stop          context.CancelFunc
	wg            sync.WaitGroup

	open     chan struct{} // closed once it has its names and its seed
	told     chan struct{} // closed by the first table message
	tellOnce sync.Once

	ctl    sync.Mutex // held while a message to the control port is dealt with
	opener *conn      // what the open table began on
	opened routing.Kind

	table  sync.RWMutex // guards reader
	reader routing.Reader

	sending sync.Mutex
	turns   map[*routing.Entry][]uint16
}

// Start makes an App that listens, and asks if it has a route manager. Close it
// after use. The error is that of listening.
func Start(cfg Config) (*App, error) {
	a := &App{cfg: cfg.filled()}
	a.queue = newQueue(a.cfg.Queue)
	if err := a.start(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *App) start() error {
	r := &incarnation{app: a, number: a.starts + 1, told: make(chan struct{}), open: make(chan struct{}), turns: map[*routing.Entry][]uint16{}}
	r.life, r.stop = context.WithCancel(context.Background())
	r.data, r.control = newPort(r, r.onData), newPort(r, r.onControl)
	for _, p := range []struct {
		port *port
		addr *string
	}{{r.data, &a.cfg.Listen}, {r.control, &a.cfg.Control}} {
		if err := p.port.listen(*p.addr); err != nil {
			r.end()
			return err
		}
		*p.addr = p.port.address // free ports are kept over restarts
	}
	r.identify()
	if err := r.reader.Seed(a.cfg.Seed); err != nil {
		r.end()
		return fmt.Errorf("seed table: %w", err)
	}
	a.mu.Lock()
	a.starts++
	a.live = r
	a.changedLocked()
	a.mu.Unlock()
	close(r.open)
	if a.cfg.RouteManager != "" {
		r.wg.Go(func() { r.ask() })
	}
	return nil
}

// identify gives ports and reader the names of the App.
func (r *incarnation) identify() {
	for _, p := range []*port{r.data, r.control} {
		_, number, _ := net.SplitHostPort(p.address) // it listens there
		p.src = []byte(net.JoinHostPort(r.app.cfg.Name, number))
		p.srcIP = []byte(net.JoinHostPort(r.app.cfg.Address, number))
	}
	r.reader.Name, r.reader.Addresses = string(r.data.src), []string{string(r.data.srcIP)}
}

// within returns a context that ends with ctx and with the incarnation.
func (r *incarnation) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// end ends all goroutines of the incarnation and waits for them.
func (r *incarnation) end() {
	r.stop()
	r.data.close()
	r.control.close()
	r.wg.Wait()
}

// Close ends the App as when its process is killed: listeners and connections close.
// What it recorded stays. It may be called again.
func (a *App) Close() {
	if r := a.now(); r != nil {
		r.end()
	}
}

// Restart ends the App, if it runs, and starts it anew on the same ports: without
// a table, asking again. Faults that were asked for, such as Pause, stay.
func (a *App) Restart() error {
	a.Close()
	a.queue.clear()
	return a.start()
}

func (a *App) now() *incarnation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live
}

// ID is what route managers know the App by: NAME:PORT of its data port.
func (a *App) ID() string { return string(a.now().data.src) }

// DataAddress is the HOST:PORT of the data port.
func (a *App) DataAddress() string { return a.now().data.address }

// ControlAddress is the HOST:PORT of the control port.
func (a *App) ControlAddress() string { return a.now().control.address }

// Connections is how many connections the App has, on both ports.
func (a *App) Connections() int {
	r, n := a.now(), 0
	for _, p := range []*port{r.data, r.control} {
		p.each(func(*conn) { n++ })
	}
	return n
}
