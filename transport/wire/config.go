package wire

import (
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Defaults of [Options] and the limits of a listener.
const (
	DefaultHandshakeTimeout = 5 * time.Second
	DefaultStallTimeout     = 5 * time.Second
	DefaultSendTimeout      = 60 * time.Second
	DefaultIdleTimeout      = 60 * time.Second
	DefaultCallTimeout      = 30 * time.Second
	DefaultKeepAlive        = time.Second
	DefaultPeerTimeout      = 4 * time.Second
	DefaultMaxFrame         = 16 << 20
	DefaultMaxInFlight      = 1024

	// DefaultMaxConns is how many TCP connections one listener holds at a time.
	DefaultMaxConns = 4096
	// DefaultMaxConnsPerClient is how many of them may come from one IP
	// address. Loopback addresses are exempt.
	DefaultMaxConnsPerClient = 256
	// DefaultMaxHandlers is how many RPC handlers of one port run at a time.
	DefaultMaxHandlers = 4096
)

// Options are the settings that both ends of a connection share. The zero
// value of each field means its default. All nodes and clients of a cluster
// should agree on MaxFrame, KeepAlive and PeerTimeout.
type Options struct {
	// HandshakeTimeout bounds connecting and the preamble, both ways (5 s).
	HandshakeTimeout time.Duration
	// StallTimeout is how long an RPC or event frame, once begun, may stand
	// still before its connection is closed (5 s).
	StallTimeout time.Duration
	// SendTimeout is how long a stream's write may wait for a peer that is
	// alive but reads nothing (60 s).
	SendTimeout time.Duration
	// IdleTimeout is how long an RPC connection without calls stays open (60 s).
	IdleTimeout time.Duration
	// CallTimeout bounds a call whose context has no deadline (30 s).
	CallTimeout time.Duration
	// KeepAlive is how long a stream may be silent before a keep-alive frame
	// is sent (1 s).
	KeepAlive time.Duration
	// PeerTimeout is the silence on a stream after which its peer counts as
	// dead (4 s). It has to be larger than KeepAlive.
	PeerTimeout time.Duration
	// MaxFrame is the largest RPC body or stream frame, in bytes (16 MiB).
	MaxFrame int
	// MaxInFlight is how many calls one connection carries at a time (1024).
	MaxInFlight int

	// WrapDialled and WrapAccepted are the seam for TLS: they are given each
	// new TCP connection before any byte is exchanged and return the
	// connection to use. The handshake belongs to the first Read or Write,
	// as crypto/tls does it, and is then bounded by HandshakeTimeout.
	// nil: TCP, with sums of our own (records, see DESIGN.md).
	WrapDialled  func(conn net.Conn, address string) net.Conn
	WrapAccepted func(conn net.Conn) net.Conn
	// Abroad tells which methods may be called on nodes of other clusters, and
	// by them; everything else between clusters is refused. A connection leads
	// to another cluster where what WrapDialled or WrapAccepted returned has a
	// method Abroad() bool that says so once bytes have gone over it. nil: none.
	Abroad func(method string) bool
}

// Config says how [Listen] opens a port.
type Config struct {
	Options

	// Bind is the "host:port" to listen on. The host may be empty or an
	// unspecified address; see Advertise. Port 0 picks one that is free for
	// both TCP and UDP.
	Bind string
	// Advertise is the "host:port" that others are told. Empty: the bound
	// address, or the only usable interface address when Bind has none. Port
	// 0 stands for the bound port.
	Advertise string
	// Flag is how error texts name Bind's setting ("--peer").
	Flag string
	// Log receives what an operator should know. nil: silent.
	Log hclog.Logger

	// MaxConns, MaxConnsPerClient, MaxHandlers: see the defaults.
	MaxConns          int
	MaxConnsPerClient int
	MaxHandlers       int

	// interfaces lists the host's addresses; tests replace it.
	interfaces func() ([]netip.Addr, error)
}

func (o Options) withDefaults() Options {
	set(&o.HandshakeTimeout, DefaultHandshakeTimeout)
	set(&o.StallTimeout, DefaultStallTimeout)
	set(&o.SendTimeout, DefaultSendTimeout)
	set(&o.IdleTimeout, DefaultIdleTimeout)
	set(&o.CallTimeout, DefaultCallTimeout)
	set(&o.KeepAlive, DefaultKeepAlive)
	set(&o.PeerTimeout, DefaultPeerTimeout)
	set(&o.MaxFrame, DefaultMaxFrame)
	set(&o.MaxInFlight, DefaultMaxInFlight)
	return o
}

func (c Config) withDefaults() Config {
	c.Options = c.Options.withDefaults()
	set(&c.Flag, "--peer")
	set(&c.MaxConns, DefaultMaxConns)
	set(&c.MaxConnsPerClient, DefaultMaxConnsPerClient)
	set(&c.MaxHandlers, DefaultMaxHandlers)
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.interfaces == nil {
		c.interfaces = interfaceAddrs
	}
	return c
}

// set gives *field its default where it has no value.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
