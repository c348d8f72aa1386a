package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// packetQueue is how many gossip packets may wait for memberlist; what
	// comes while it is full is dropped and counted, as UDP itself would.
	packetQueue = 1024
	// packetMax is the largest UDP payload.
	packetMax = 64 << 10
	// packetSockBuf is asked of the kernel for bursts.
	packetSockBuf = 2 << 20
)

// gossip gives memberlist its share of the port: the UDP socket and the
// connections of kind gossip. What packets hold is memberlist's matter.
type gossip struct {
	port    *Port
	udp     *net.UDPConn
	packets chan *memberlist.Packet
	streams chan net.Conn // unbuffered, like raft's
	dropped atomic.Uint64
	done    chan struct{}
	ended   chan struct{} // read has returned
	once    sync.Once
}

var _ memberlist.NodeAwareTransport = (*gossip)(nil)

func newGossip(p *Port, udp *net.UDPConn) *gossip {
	_ = udp.SetReadBuffer(packetSockBuf) // a wish; the kernel's limit will do
	return &gossip{
		port:    p,
		udp:     udp,
		packets: make(chan *memberlist.Packet, packetQueue),
		streams: make(chan net.Conn),
		done:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
}

// GossipTransport returns memberlist's share of the port, the same value each
// time. Shutting it down, as memberlist does, closes the UDP socket and
// refuses gossip connections; the rest of the port goes on. That can't be
// undone.
func (p *Port) GossipTransport() memberlist.NodeAwareTransport { return p.gossip }

// FinalAdvertiseAddr returns ip and port when memberlist's configuration
// names them, else the port's advertised address, resolved. An unspecified
// address is refused.
func (g *gossip) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	address := g.port.advertise
	if ip != "" {
		address = net.JoinHostPort(ip, fmt.Sprint(port))
	}
	resolved, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, 0, fmt.Errorf("advertised address %s: %w", address, err)
	}
	if resolved.IP == nil || resolved.IP.IsUnspecified() {
		return nil, 0, fmt.Errorf("advertised address %s: %w", address, ErrNoAdvertise)
	}
	if ip4 := resolved.IP.To4(); ip4 != nil {
		return ip4, resolved.Port, nil
	}
	return resolved.IP, resolved.Port, nil
}

// WriteTo sends one packet to a host:port.
func (g *gossip) WriteTo(b []byte, address string) (time.Time, error) {
	to, err := udpAddress(address)
	if err != nil {
		return time.Time{}, err
	}
	_, err = g.udp.WriteToUDPAddrPort(b, to)
	return time.Now(), err
}

// WriteToAddress sends one packet; the name is not used.
func (g *gossip) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return g.WriteTo(b, a.Addr)
}

func udpAddress(address string) (netip.AddrPort, error) {
	if to, err := netip.ParseAddrPort(address); err == nil {
		return to, nil
	}
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return to.AddrPort(), nil
}

// PacketCh delivers received packets.
func (g *gossip) PacketCh() <-chan *memberlist.Packet { return g.packets }

// StreamCh delivers accepted gossip connections.
func (g *gossip) StreamCh() <-chan net.Conn { return g.streams }

// DialTimeout opens a gossip connection to another node's peer port.
func (g *gossip) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	return g.port.client.dialConn(address, kindGossip, timeout)
}

// DialAddressTimeout opens a gossip connection; the name is not used.
func (g *gossip) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return g.DialTimeout(a.Addr, timeout)
}

// Shutdown closes the UDP socket and refuses further gossip connections. It
// waits for the packet reader.
func (g *gossip) Shutdown() error {
	g.close()
	<-g.ended
	return nil
}

func (g *gossip) close() {
	g.once.Do(func() {
		close(g.done)
		_ = g.udp.Close() // nothing is left to do about it
	})
}

func (g *gossip) closed() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (g *gossip) hand(c *conn) {
	g.port.handTo(c, func(c *conn, timeout <-chan time.Time) bool {
		select {
		case g.streams <- &gossipConn{conn: c, complain: g.complain(c)}:
			return true
		case <-g.done:
		case <-timeout:
		}
		return false
	})
}

// complain counts and logs what c announced.
func (g *gossip) complain(c *conn) func(error) {
	return func(err error) { g.port.complaints.badInput(c.RemoteAddr(), err) }
}

// read takes packets off the socket until it is closed.
func (g *gossip) read() {
	defer close(g.ended)
	buf := make([]byte, packetMax)
	for {
		n, from, err := g.udp.ReadFromUDPAddrPort(buf)
		now := time.Now()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			g.pause(err)
			continue
		}
		if n > 0 {
			g.deliver(&memberlist.Packet{
				Buf:       append([]byte(nil), buf[:n]...),
				From:      net.UDPAddrFromAddrPort(netip.AddrPortFrom(from.Addr().Unmap(), from.Port())),
				Timestamp: now,
			})
		}
	}
}

func (g *gossip) deliver(packet *memberlist.Packet) {
	select {
	case g.packets <- packet:
	default:
		g.dropped.Add(1)
		g.port.complaints.warn("gossip packets are dropped, this node is too slow")
	}
}

// pause keeps a failing socket from spinning.
func (g *gossip) pause(err error) {
	g.port.complaints.warn("gossip socket read failed, trying again", "error", err)
	select {
	case <-g.done:
	case <-time.After(acceptPause):
	}
}
