package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"floe/cluster"
)

// Network is a network in memory. Hosts are known by a name, the node's id,
// and live at addresses. A cut from A to B stops what A opens or sends to B:
// its calls, connections and packets; what runs is broken. Safe for
// concurrent use.
type Network struct {
	mu    sync.Mutex
	hosts map[string]*Host // by address
	cuts  map[[2]string]bool
	conns map[*conn]struct{}
	next  int
}

// NewNetwork returns an empty network without cuts.
func NewNetwork() *Network {
	return &Network{hosts: map[string]*Host{}, cuts: map[[2]string]bool{}, conns: map[*conn]struct{}{}}
}

// NewAddress returns an address that was not used before.
func (n *Network) NewAddress() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	return net.JoinHostPort(fmt.Sprintf("10.%d.%d.%d", n.next>>16, n.next>>8&255, n.next&255), "7400")
}

// Cut stops what from sends to to.
func (n *Network) Cut(from, to string) {
	n.mu.Lock()
	n.cuts[[2]string{from, to}] = true
	var broken []*conn
	for c := range n.conns {
		if c.from == from && c.to == to {
			broken = append(broken, c)
		}
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.Close()
	}
}

// LoseAnswers has all get lost that to sends from now on over connections that
// from has made to it by now. They stay open.
func (n *Network) LoseAnswers(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if c.dialled && c.from == from && c.to == to {
			c.deaf.Store(true)
		}
	}
}

// Heal takes one cut back.
func (n *Network) Heal(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cuts, [2]string{from, to})
}

// Isolate cuts one host off from all others given, both ways.
func (n *Network) Isolate(name string, others ...string) {
	for _, other := range others {
		if other != name {
			n.Cut(name, other)
			n.Cut(other, name)
		}
	}
}

// HealAll takes all cuts back.
func (n *Network) HealAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cuts)
}

var errUnreachable = errors.New("host unreachable")

// reach returns the host at an address if from may talk to it.
func (n *Network) reach(from, address string) (*Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host := n.hosts[address]
	if host == nil || n.cuts[[2]string{from, host.name}] {
		return nil, fmt.Errorf("%s: %w", address, errUnreachable)
	}
	return host, nil
}

// Host is one process on the network.
type Host struct {
	network *Network
	name    string
	address string
	ip      net.IP
	port    int
	raft    chan net.Conn
	gossip  chan net.Conn
	packets chan *memberlist.Packet

	mu      sync.Mutex
	handler func(context.Context, net.Addr, string, []byte) ([]byte, error)
	down    chan struct{}
	once    sync.Once
}

// Host puts a host on the network.
func (n *Network) Host(name, address string) *Host {
	ip, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	h := &Host{
		network: n, name: name, address: address, ip: net.ParseIP(ip).To4(), port: number,
		raft: make(chan net.Conn, 16), gossip: make(chan net.Conn, 16),
		packets: make(chan *memberlist.Packet, 1024), down: make(chan struct{}),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[address] = h
	return h
}

// Close takes the host off the network and breaks its connections.
func (h *Host) Close() {
	h.once.Do(func() { close(h.down) })
	n := h.network
	n.mu.Lock()
	if n.hosts[h.address] == h {
		delete(n.hosts, h.address)
	}
	var broken []*conn
	for c := range n.conns {
		if c.ends[0] == h || c.ends[1] == h {
			broken = append(broken, c)
		}
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.Close()
	}
}

// Network returns what a node needs of the network.
func (h *Host) Network() cluster.Network {
	return cluster.Network{Raft: raftLayer{h}, Gossip: gossipLayer{h}, Caller: h, Server: h, Address: h.address}
}

// Serve takes the handler of calls.
func (h *Host) Serve(handler func(context.Context, net.Addr, string, []byte) ([]byte, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handler = handler
}

// notSent and remote are errors of calls, as package cluster expects them.
type notSent struct{ error }

func (notSent) NotSent() bool { return true }

type remote struct{ code, text string }

func (e remote) Error() string     { return e.text }
func (e remote) ErrorCode() string { return e.code }

// errLost: the call arrived, the answer did not.
var errLost = errors.New("connection lost before the answer")

// Call calls a method at an address.
func (h *Host) Call(ctx context.Context, address, method string, body []byte) ([]byte, error) {
	to, err := h.network.reach(h.name, address)
	if err != nil {
		return nil, notSent{err}
	}
	to.mu.Lock()
	handler := to.handler
	to.mu.Unlock()
	if handler == nil {
		return nil, notSent{fmt.Errorf("%s: nothing is served", address)}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var reply []byte
	go func() {
		defer close(done)
		reply, err = handler(ctx, addr(h.address), method, append([]byte(nil), body...))
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("call %s at %s: %w", method, address, ctx.Err())
	case <-to.down:
		return nil, errLost
	}
	if _, gone := h.network.reach(h.name, address); gone != nil {
		return nil, errLost
	}
	return reply, travelling(err)
}

// travelling is what is left of an error on the other side.
func travelling(err error) error {
	if err == nil {
		return nil
	}
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return remote{coded.ErrorCode(), err.Error()}
	}
	return remote{"", err.Error()}
}

func (h *Host) dial(address string, queue func(*Host) chan net.Conn, timeout time.Duration) (net.Conn, error) {
	to, err := h.network.reach(h.name, address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	a := h.network.keep(near, h, to)
	a.dialled = true
	b := h.network.keep(far, h, to)
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case queue(to) <- b:
		return a, nil
	case <-t.C:
	case <-to.down:
	}
	a.Close()
	b.Close()
	return nil, fmt.Errorf("dial %s: %w", address, errUnreachable)
}

// conn is one end of a connection.
type conn struct {
	net.Conn
	network  *Network
	from, to string
	ends     [2]*Host
	dialled  bool // this is from's end
	deaf     atomic.Bool
}

func (n *Network) keep(c net.Conn, from, to *Host) *conn {
	k := &conn{Conn: c, network: n, from: from.name, to: to.name, ends: [2]*Host{from, to}}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[k] = struct{}{}
	return k
}

// Read reads; a deaf end loses what comes.
func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.deaf.Load() {
			return n, err
		}
	}
}

// Close closes one end, and so both.
func (c *conn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }

// raftLayer is raft.StreamLayer.
type raftLayer struct{ h *Host }

var _ raft.StreamLayer = raftLayer{}

func (l raftLayer) Accept() (net.Conn, error) {
	select {
	case c := <-l.h.raft:
		return c, nil
	case <-l.h.down:
		return nil, net.ErrClosed
	}
}

func (l raftLayer) Close() error   { l.h.once.Do(func() { close(l.h.down) }); return nil }
func (l raftLayer) Addr() net.Addr { return addr(l.h.address) }
func (l raftLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return l.h.dial(string(address), func(h *Host) chan net.Conn { return h.raft }, timeout)
}

// gossipLayer is memberlist.NodeAwareTransport. It drops packets when its
// queue is full, as UDP would.
type gossipLayer struct{ h *Host }

var _ memberlist.NodeAwareTransport = gossipLayer{}

func (l gossipLayer) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return l.h.ip, l.h.port, nil
}
func (l gossipLayer) PacketCh() <-chan *memberlist.Packet { return l.h.packets }
func (l gossipLayer) StreamCh() <-chan net.Conn           { return l.h.gossip }
func (l gossipLayer) Shutdown() error                     { return nil }

func (l gossipLayer) WriteTo(b []byte, address string) (time.Time, error) {
	now := time.Now()
	to, err := l.h.network.reach(l.h.name, address)
	if err != nil {
		return now, nil // lost, as UDP loses
	}
	select {
	case to.packets <- &memberlist.Packet{Buf: append([]byte(nil), b...), From: &net.UDPAddr{IP: l.h.ip, Port: l.h.port}, Timestamp: now}:
	default:
	}
	return now, nil
}

func (l gossipLayer) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return l.WriteTo(b, a.Addr)
}

func (l gossipLayer) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	c, err := l.h.dial(address, func(h *Host) chan net.Conn { return h.gossip }, timeout)
	if err != nil {
		return nil, err
	}
	// memberlist writes its label before it sets a deadline of its own, and a
	// pipe to a node without gossip takes nothing.
	return c, c.SetDeadline(time.Now().Add(timeout))
}

func (l gossipLayer) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return l.DialTimeout(a.Addr, timeout)
}
