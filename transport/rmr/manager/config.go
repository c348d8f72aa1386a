package manager

import (
	"context"
	"net/netip"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
)

// Group is the replicated state and the nodes that hold it; *cluster.Node is
// one.
type Group interface {
	ID() string
	View() *fsm.View
	Changed() <-chan struct{}
	Read(ctx context.Context) (*fsm.View, error)
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
	Call(ctx context.Context, node, method string, body []byte) ([]byte, error)
	Handle(method string, handler func(ctx context.Context, from string, body []byte) ([]byte, error))
	LeaderID() string
	IsLeader() bool
	LeaderChanged() <-chan struct{}
}

// Config says how a Manager works. Group is needed.
type Config struct {
	Group Group
	// Member tells whether this node belongs to a cluster; nil: it always
	// does. While it does not, requests are not answered: its copy of the
	// table stays as it was, and who has a table never asks again.
	Member func() bool
	// Lease is how long a node may push unasked after it last heard of the
	// leader; 1 s if zero, at least 500 ms. Two election time-outs fit: most
	// leases outlast a change of the leader, and an app whose node died with the
	// leadership has another one within 2 s. All nodes must have the same.
	Lease time.Duration
	// Chunk is the size, in bytes, from which a table is cut into several
	// messages, for programs older than release 3.8 of the library; 0: only
	// what is larger than 16 MiB is.
	Chunk int
	// Expire is how long an app may give no sign of life before it is
	// forgotten, 24 h if zero.
	Expire time.Duration
	// Connections is how many connections are accepted at a time, 4096 if
	// zero; others are closed at once.
	Connections int
	// Apps is how many apps this node knows at a time, 20 000 if zero.
	Apps int
	// Rate is how many registrations a second are committed for one client
	// address, 50 if zero. Those beyond wait; what they asked for is answered
	// all the same.
	Rate int
	// Exempt says whose registrations are not limited; nil: those of this
	// machine.
	Exempt func(netip.Addr) bool
	// AckTimeout is how long an app may take to acknowledge a table, 10 s if
	// zero, and a second more for each MiB of it.
	AckTimeout time.Duration
	// WriteTimeout limits each message's write, in the same way; 5 s if zero.
	WriteTimeout time.Duration
	// DialTimeout limits connecting to one address of an app, 3 s if zero.
	DialTimeout time.Duration
	// Late is how long what another node sent, or this one on a connection that
	// broke, may stay in the network, 3 s if zero.
	Late time.Duration
	// Redial is the longest pause between attempts to reach an app, 10 s if
	// zero, dialling included.
	Redial time.Duration
	// Log receives what an operator should know; nil is silence.
	Log hclog.Logger
}

func (c Config) filled() Config {
	orElse(&c.Lease, time.Second)
	c.Lease = max(c.Lease, 500*time.Millisecond)
	orElse(&c.Expire, 24*time.Hour)
	orElse(&c.Connections, 4096)
	orElse(&c.Apps, fsm.MaxApps)
	orElse(&c.Rate, 50)
	orElse(&c.AckTimeout, 10*time.Second)
	orElse(&c.WriteTimeout, 5*time.Second)
	orElse(&c.DialTimeout, 3*time.Second)
	orElse(&c.Redial, 10*time.Second)
	orElse(&c.Late, 3*time.Second)
	if c.Member == nil {
		c.Member = func() bool { return true }
	}
	if c.Exempt == nil {
		c.Exempt = netip.Addr.IsLoopback
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return c
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// margin is how much longer than the lease the leader waits before it takes
// a node for out: clocks of two machines do not run at quite the same pace.
func (c *Config) margin() time.Duration { return max(c.Lease/5, 100*time.Millisecond) }

// forSize adds to a time limit what so many bytes may take.
func forSize(limit time.Duration, bytes int) time.Duration {
	return limit + time.Duration(bytes>>10)*time.Millisecond
}
