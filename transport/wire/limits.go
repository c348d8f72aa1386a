package wire

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// connLimits counts a listener's open connections. It is safe for concurrent
// use.
type connLimits struct {
	max, perClient int
	refused        atomic.Uint64
	acceptErrors   atomic.Uint64

	mu      sync.Mutex
	total   int
	clients map[netip.Addr]int
	served  int           // connections whose handlers Shutdown waits for
	waiting chan struct{} // closed when served gets to 0
}

func newConnLimits(max, perClient int) *connLimits {
	return &connLimits{max: max, perClient: perClient, clients: make(map[netip.Addr]int)}
}

// take admits a connection from ip or counts its refusal and returns why.
func (l *connLimits) take(ip netip.Addr) (refusal string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.max {
		l.refused.Add(1)
		return "listener has its limit of connections"
	}
	if !ip.IsLoopback() && l.clients[ip] >= l.perClient {
		l.refused.Add(1)
		return "client address has its limit of connections"
	}
	l.total++
	l.clients[ip]++
	return ""
}

func (l *connLimits) give(ip netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.clients[ip]--; l.clients[ip] == 0 {
		delete(l.clients, ip)
	}
}

func (l *connLimits) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// serve runs f as one of those that idle waits for.
func (l *connLimits) serve(f func()) {
	l.count(1)
	defer l.count(-1)
	f()
}

func (l *connLimits) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.served += n
	if l.served == 0 && l.waiting != nil {
		close(l.waiting)
		l.waiting = nil
	}
}

// idle returns a channel that closes once nothing is served.
func (l *connLimits) idle() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = make(chan struct{})
		if l.served == 0 {
			close(l.waiting)
			done := l.waiting
			l.waiting = nil
			return done
		}
	}
	return l.waiting
}
