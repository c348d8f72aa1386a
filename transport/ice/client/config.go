package client

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/topics"
	"floe/transport/ice/proto"
)

// Clusters knows where topics of other floe clusters are.
type Clusters interface {
	// LinkProxy returns the link proxy of a topic of another cluster, with
	// endpoints of as many of its nodes as are known. It is asked at each
	// reconnect. An error that wraps [ErrGone] says that the cluster
	// answered, and has no such topic any more.
	LinkProxy(ctx context.Context, cluster string, id topics.ID) (proto.Proxy, error)
}

// Config says how a [Client] works. The zero value has a default for each.
type Config struct {
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
	// TLS returns what to use for the next connection to an ssl or wss endpoint;
	// nil: there can be none.
	TLS func() *tls.Config
	// Locator resolves proxies without endpoints; the null proxy: none.
	Locator proto.Proxy
	// Clusters resolves links to other floe clusters; nil: none.
	Clusters Clusters
	// Origin names this node in events it forwards to other floe clusters.
	Origin string
	// ConnectTimeout bounds connecting to one endpoint, and then again the
	// wait for its ValidateConnection; 5 s.
	ConnectTimeout time.Duration
	// SendTimeout is how long a peer may take nothing of what is being
	// written to it, or be silent while an answer is due; 60 s.
	SendTimeout time.Duration
	// IdleTimeout is after how long an idle connection is closed; 60 s.
	IdleTimeout time.Duration
	// FlushInterval is for how long events of batch subscribers are
	// gathered; 1 s.
	FlushInterval time.Duration
	// MessageSizeMax bounds each message, in bytes; 1 MiB.
	MessageSizeMax int
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	setDefault(&c.ConnectTimeout, 5*time.Second)
	setDefault(&c.SendTimeout, time.Minute)
	setDefault(&c.IdleTimeout, time.Minute)
	setDefault(&c.FlushInterval, time.Second)
	if c.MessageSizeMax <= 0 {
		c.MessageSizeMax = proto.DefaultMaxSize
	}
	return c
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}
