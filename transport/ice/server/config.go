package server

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/ice/proto"
)

// Config says what a [Server] serves and within which bounds. Zero values
// stand for the defaults named with each field.
type Config struct {
	// Objects finds the servants; required.
	Objects Objects
	// Allow says why a request to a servant may not be made, which is answered as
	// [AppendError] says; nil: every request may.
	Allow func(r *Request, s Servant) error
	// NewSession makes what the inline requests of one connection share; see
	// [Session]. nil: nothing.
	NewSession func() Session
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
	// MessageSizeMax is the largest message in bytes, header included, also
	// after decompression (1 MiB, as in Ice).
	MessageSizeMax int
	// Heartbeat is how long a connection may be silent on our side (25s).
	Heartbeat time.Duration
	// FrameTimeout is how long a frame may stand still (5s).
	FrameTimeout time.Duration
	// WriteTimeout bounds one write to a client that does not read (60s).
	WriteTimeout time.Duration
	// BatchTimeout bounds all requests of one batch together, which run one after
	// the other while nothing else is read from the connection (60s).
	BatchTimeout time.Duration
	// CloseTimeout is how long a closed client may take to close its side (2s).
	CloseTimeout time.Duration
	// Connections is the most connections of one listener (4096).
	Connections int
	// PerAddress is the most connections from one address on one listener;
	// loopback is exempt (256).
	PerAddress int
	// InFlight is the most requests of one connection being worked on at
	// once; beyond, nothing more is read from it (1024).
	InFlight int
	// Dispatches is the most requests being worked on at once (8192).
	Dispatches int
}

// Objects finds the objects a server serves. Safe for concurrent use.
type Objects interface {
	// Locate returns the servant of an identity, nil if there is no such
	// object here. It must not wait.
	Locate(id proto.Identity) Servant
	// Refresh is called where Locate found nothing, before the client is told
	// so. It waits, within bounds of its own, until Locate knows what was made
	// before the call, and reports whether looking again is worthwhile.
	Refresh(ctx context.Context, id proto.Identity) bool
}

// Session is what the inline requests of one connection share. It is used by
// the connection's goroutine alone, which calls Flush when the requests read
// together are done, and before it waits for anything.
type Session interface{ Flush() }

// Transport says what stands between a listener and the Ice protocol.
type Transport struct {
	// Name names the listener in logs and counters ("tcp", "wss", ...).
	Name string
	// TLS makes it ssl (or wss); nil is plain.
	TLS *tls.Config
	// WebSocket makes it ws (or wss), with any path.
	WebSocket bool
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	orDefault(&c.MessageSizeMax, proto.DefaultMaxSize)
	orDefault(&c.Heartbeat, 25*time.Second)
	orDefault(&c.FrameTimeout, 5*time.Second)
	orDefault(&c.WriteTimeout, 60*time.Second)
	orDefault(&c.BatchTimeout, 60*time.Second)
	orDefault(&c.CloseTimeout, 2*time.Second)
	orDefault(&c.Connections, 4096)
	orDefault(&c.PerAddress, 256)
	orDefault(&c.InFlight, 1024)
	orDefault(&c.Dispatches, 8192)
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
