package relay

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/transport/rmr/proto"
)

// Group is the cluster's state as this node has it.
type Group interface {
	// View returns the state as it stands.
	View() *fsm.View
	// Changed returns a channel that is closed at the next change of it.
	Changed() <-chan struct{}
}

// Config is what a Relay is made of. Group is needed; zero values of the
// others have the meaning given.
type Config struct {
	Group Group
	// Publish takes a message for a topic that a group of its entry names. It
	// must not block, and copy what it keeps of m. Nil: nobody gets those.
	Publish func(topic string, m *proto.Message)
	// Source is the host:port at which others reach this node's listener for
	// messages: the sender of the messages it makes itself. At most
	// proto.MaxSource bytes.
	Source string
	// Access says from which addresses messages of which types may come; zero:
	// all from everywhere. Answers on connections to endpoints are no concern
	// of it.
	Access Access
	// Queue is how many messages may wait for an endpoint, 10000 if zero;
	// QueueBytes how many bytes of them, 16 MiB if zero. One message always
	// finds room in an empty queue. What comes when it is full is dropped.
	Queue      int
	QueueBytes int64
	// Limit is the longest frame that is taken, in bytes;
	// proto.DefaultLimit if zero.
	Limit int
	// Conns is how many connections a listener holds at a time, 4096 if
	// zero; PerAddress how many from one address other than a loopback one, 256
	// if zero. Others are closed at once.
	Conns, PerAddress int
	// FrameTimeout is how long a frame may take from its first byte to its
	// last, 30 s if zero. Between frames a connection may be silent for ever.
	FrameTimeout time.Duration
	// ConnectTimeout limits one attempt to connect to an endpoint, name
	// look-up included; 3 s if zero.
	ConnectTimeout time.Duration
	// Backoff is the pause after an attempt that failed, 1 s if zero; it
	// doubles each time up to MaxBackoff, 10 s if zero.
	Backoff, MaxBackoff time.Duration
	// IdleTimeout is after how long without a message the connection to an
	// endpoint closes that no route names; 1 minute if zero.
	IdleTimeout time.Duration
	// Replies is how many of the latest calls are remembered, and how many
	// of the latest other messages, for answers that come back through us:
	// 65536 of each if zero. One takes 64 bytes.
	Replies int
	// Log is where the Relay logs to; nil: nowhere.
	Log hclog.Logger
}

func (c Config) filled() Config {
	orElse(&c.Queue, 10_000)
	orElse(&c.QueueBytes, 16<<20)
	orElse(&c.Limit, proto.DefaultLimit)
	orElse(&c.Conns, 4096)
	orElse(&c.PerAddress, 256)
	orElse(&c.FrameTimeout, 30*time.Second)
	orElse(&c.ConnectTimeout, 3*time.Second)
	orElse(&c.Backoff, time.Second)
	orElse(&c.MaxBackoff, 10*time.Second)
	orElse(&c.IdleTimeout, time.Minute)
	orElse(&c.Replies, 65536)
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Publish == nil {
		c.Publish = func(string, *proto.Message) {}
	}
	return c
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
