package wire

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// lastGrace is how long Shutdown waits for handlers after it has cancelled
// their contexts and closed their connections.
const lastGrace = time.Second

// Port is an open peer port. Its methods are safe for concurrent use.
type Port struct {
	cfg       Config
	listener  *net.TCPListener
	advertise string

	client *Client
	raft   *raftLayer
	gossip *gossip

	// serving and streams are what Serve and ServeStreams were given.
	serving atomic.Pointer[Handler]
	streams atomic.Pointer[func(context.Context, *Stream)]
	slots   chan struct{} // running handlers

	refusedCalls atomic.Uint64

	limits      *connLimits
	complaints  *complaints
	handshaking connSet // before their preamble
	accepted    connSet // after it
	wg          sync.WaitGroup

	draining context.Context // ends first: nothing new
	drain    context.CancelFunc
	stopping context.Context // ends then: running handlers should end
	stop     context.CancelFunc
	once     sync.Once
	ended    chan struct{}
}

// Stats are a port's counters since it was opened, and Conns, the TCP
// connections open now.
type Stats struct {
	BadInput       uint64 // connections closed for what they sent, or did not send in time
	RefusedConns   uint64 // connections over a limit
	DroppedPackets uint64 // gossip packets dropped because memberlist was behind
	AcceptErrors   uint64 // failed accepts, for example for want of file descriptors
	RefusedCalls   uint64 // calls over a limit
	Conns          int
}

// Listen opens the port and starts accepting. RPC and stream connections are
// refused, in words, until Serve and ServeStreams are called; raft and gossip
// ones wait up to the handshake timeout for their taker. The caller must call
// Shutdown.
func Listen(cfg Config) (*Port, error) {
	cfg = cfg.withDefaults()
	ln, udp, err := sockets(cfg)
	if err != nil {
		return nil, err
	}
	advertise, err := advertised(cfg, ln.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		_, _ = ln.Close(), udp.Close() // err is the one to tell
		return nil, err
	}
	p := newPort(cfg, ln, advertise)
	p.gossip = newGossip(p, udp)
	p.wg.Go(p.gossip.read)
	p.wg.Go(func() { p.accept(ln.AcceptTCP) })
	return p, nil
}

func newPort(cfg Config, ln *net.TCPListener, advertise string) *Port {
	p := &Port{
		cfg:        cfg,
		listener:   ln,
		advertise:  advertise,
		client:     NewClient(cfg.Options),
		slots:      make(chan struct{}, cfg.MaxHandlers),
		limits:     newConnLimits(cfg.MaxConns, cfg.MaxConnsPerClient),
		complaints: newComplaints(cfg.Log, cfg.Flag, ln.Addr()),
		ended:      make(chan struct{}),
	}
	p.draining, p.drain = context.WithCancel(context.Background())
	p.stopping, p.stop = context.WithCancel(context.Background())
	p.raft = newRaftLayer(p)
	return p
}

// Addr is the bound TCP address; the UDP socket has the same.
func (p *Port) Addr() netip.AddrPort {
	return p.listener.Addr().(*net.TCPAddr).AddrPort()
}

// Advertised is the host:port that others are told; never an unspecified
// address.
func (p *Port) Advertised() string { return p.advertise }

// Client returns the port's own client for calls and streams to other nodes.
// It ends with the port.
func (p *Port) Client() *Client { return p.client }

// BadInput is how many connections were closed because what they sent was not
// floe's peer protocol, broke it, or stood still.
func (p *Port) BadInput() uint64 { return p.complaints.total.Load() }

// Stats returns the counters.
func (p *Port) Stats() Stats {
	return Stats{
		BadInput:       p.BadInput(),
		RefusedConns:   p.limits.refused.Load(),
		DroppedPackets: p.gossip.dropped.Load(),
		AcceptErrors:   p.limits.acceptErrors.Load(),
		RefusedCalls:   p.refusedCalls.Load(),
		Conns:          p.limits.open(),
	}
}

// Shutdown stops accepting, answers new requests with a refusal that callers
// may retry elsewhere, waits for running handlers and stream callbacks until
// ctx ends, closes every connection, dialled ones included, and waits for the
// port's goroutines. Raft and memberlist should have been shut down before.
//
// Stream callbacks see their context end at once; RPC handlers when ctx does.
// An error says that a handler was still running in the end.
func (p *Port) Shutdown(ctx context.Context) error {
	p.once.Do(func() {
		p.drain()
		_ = p.listener.Close() // nothing is left to do about it
		p.handshaking.closeAll()
		go p.finish(ctx)
	})
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(lastGrace):
		return fmt.Errorf("shut down peer port %s: a handler did not end: %w", p.Addr(), ctx.Err())
	}
}

// finish runs once, and ends when every other goroutine of the port has.
func (p *Port) finish(ctx context.Context) {
	defer close(p.ended)
	p.waitServed(ctx)
	p.stop()
	_ = p.raft.Close() // never fails
	p.gossip.close()
	p.accepted.closeAll()
	p.client.Close()
	p.wg.Wait()
}

// waitServed returns when no RPC or stream connection is left, or ctx ends.
func (p *Port) waitServed(ctx context.Context) {
	select {
	case <-p.limits.idle():
	case <-ctx.Done():
	}
}
