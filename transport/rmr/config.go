package rmr

import (
	"net"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/rmr/proto"
)

// CallTimeout is how long [App.Call] waits for an answer unless its context says so.
const CallTimeout = time.Second

// Config is what an App is made of. The zero value is an App that takes no
// connections and gets answers on those it opens.
type Config struct {
	// Listener takes connections, and closes with the App; nil: none.
	Listener net.Listener
	// Source is the NAME:PORT that messages bear as their sender; empty: the
	// address of the listener, and nothing without one.
	Source string
	// Queue is how many messages wait to be received, 4095 if zero, as in the library;
	// QueueBytes how many bytes of them, 256 MiB if zero. What comes when
	// either is full is dropped and counted.
	Queue      int
	QueueBytes int64
	// Limit is the longest frame that is sent or taken, in bytes;
	// proto.DefaultLimit if zero.
	Limit int
	// Conns is how many connections are accepted at a time, 1024 if zero;
	// others are closed at once.
	Conns int
	// Timeout limits connecting and each write, 5 s if zero.
	Timeout time.Duration
	// FrameTimeout is how long a frame may take from its first byte to its
	// last, 30 s if zero. Between frames a connection may be silent for ever.
	FrameTimeout time.Duration
	// Log is where the App logs to; nil: nowhere.
	Log hclog.Logger
}

func (c Config) filled() Config {
	orElse(&c.Queue, 4095)
	orElse(&c.QueueBytes, 256<<20)
	orElse(&c.Limit, proto.DefaultLimit)
	orElse(&c.Conns, 1024)
	orElse(&c.Timeout, 5*time.Second)
	orElse(&c.FrameTimeout, 30*time.Second)
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
