package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"floe/fsm"
	"floe/routing/derive"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/http/api"
	"floe/transport/routeload"
)

// Limits of the listener.
const (
	// maxHeader is the most a request's header may have, in bytes.
	maxHeader = 64 << 10
	// headerTimeout bounds the reading of a request's header.
	headerTimeout = 5 * time.Second
	// bodyTimeout bounds the reading of a request and the writing of an answer.
	bodyTimeout = 60 * time.Second
	// idleTimeout is how long a connection without requests stays open.
	idleTimeout = 2 * time.Minute
)

// Group is the replicated state as this face needs it.
type Group interface {
	View() *fsm.View
	// Changed is closed at the next change of the View.
	Changed() <-chan struct{}
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
	Read(ctx context.Context) (*fsm.View, error)
}

// Nodes is membership as this face needs it. Members, Status, Ready and
// ContactAge answer at once and without a leader.
type Nodes interface {
	ID() string
	Members(ctx context.Context) []api.Member
	Status(ctx context.Context) api.Status
	// Ready is nil once caught up with a leader, else it says why not.
	Ready() error
	// ContactAge is how long ago the leader was heard; 0 on the leader,
	// negative where it never was.
	ContactAge() time.Duration
	Join(ctx context.Context, addresses []string, token string) error
	Leave(ctx context.Context) error
	Remove(ctx context.Context, id string, force bool) error
	Transfer(ctx context.Context, id string) error
	Drain(ctx context.Context, undo bool) error
	// Keys are the secrets of the gossip, by ids; ChangeKeys changes them on
	// all nodes.
	Keys(ctx context.Context) api.Keys
	ChangeKeys(ctx context.Context, c api.KeyChange) error
}

// Events publishes and subscribes natively. Errors: *api.Error, or those of Group.
type Events interface {
	Publish(ctx context.Context, p api.Publish) error
	// Subscribe returns once events published anywhere in the cluster
	// reach the stream, or after a short while where a node does not answer.
	Subscribe(ctx context.Context, topics []string) (Stream, error)
}

// Stream is one native subscription.
type Stream interface {
	// Next returns the next line, or ctx's error. The lines of one call are
	// the caller's.
	Next(ctx context.Context) (api.Event, error)
	Close()
}

// Clusters finds out about other floe clusters; *federation.Federation does.
type Clusters interface {
	// Discover asks peer addresses which cluster lives there.
	Discover(ctx context.Context, name string, addresses []string) (fsm.Peer, error)
	// Topic finds the link target for a topic of a cluster known by name.
	Topic(ctx context.Context, cluster, topic string) (topics.Remote, error)
}

// Figures counts events by receiver; *delivery.Hub does.
type Figures interface {
	Stats() delivery.Stats
}

// Settings are the values that can be changed while the node runs.
type Settings interface {
	List() []api.Setting
	// Set changes one; the error says which values it takes.
	Set(s api.Setting) error
}

// Config says what a [Server] serves. Group and Nodes are needed; a nil
// Events, Clusters or Settings refuses its calls.
type Config struct {
	Group    Group
	Nodes    Nodes
	Events   Events
	Clusters Clusters
	Settings Settings
	// Apps knows what each app was sent; nil: what the state knows is told.
	Apps Apps
	// OldManager reads what an old route manager left behind, its
	// configuration file or its answer to getdebuginfo, given the facts as
	// they are; nil refuses the import.
	OldManager func(now *derive.Facts, texts []string) (OldManager, error)
	// Figures counts events by receiver; nil: the list of subscribers has none.
	Figures Figures
	// Natives knows native subscribers; nil: a trace has none.
	Natives Natives
	// Cluster adds up what all nodes count; nil: only this one is told of.
	Cluster Cluster
	// Collectors give the node's figures to /metrics, beside those of the
	// Go runtime and the process.
	Collectors []prometheus.Collector
	// RefuseReserved refuses routes for the message types that RMR keeps for
	// itself.
	RefuseReserved bool
	// Program is the program's version, which backups name.
	Program string
	// TLS has Serve speak TLS; nil: in the clear. Certificates of clients are
	// for it to verify.
	TLS *tls.Config
	// Log gets what an operator should know; nil: silence.
	Log hclog.Logger
	// Audit gets a line for each call that changes the cluster, but not the
	// replicated state, and for those without rights; nil: Log does.
	Audit hclog.Logger
}

func (c *Config) audit() hclog.Logger {
	switch {
	case c.Audit != nil:
		return c.Audit
	case c.Log != nil:
		return c.Log
	}
	return hclog.NewNullLogger()
}

// Server is the HTTP face of one node.
type Server struct {
	config   Config
	log      hclog.Logger
	server   *http.Server
	looks    *http.Server // of ServeHealth
	conns    *conns
	refused  refusals
	failures *failures
	metrics  http.Handler
	loader   *routeload.Loader
	paths    map[string]bool // of all calls
	streams  context.Context // ends when event streams have to
	stop     context.CancelFunc

	restoring sync.Mutex // one backup at a time is in memory
}

// New returns a server; the caller calls Serve and Shutdown.
func New(config Config) *Server {
	s := &Server{config: config, log: config.Log, loader: routeload.New(config.Group), paths: map[string]bool{}}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	s.conns, s.failures, s.metrics = &conns{log: s.log}, newFailures(), s.newMetrics()
	s.streams, s.stop = context.WithCancel(context.Background())
	s.server, s.looks = s.newServer(s.Handler()), s.newServer(s.healthHandler())
	s.server.TLSConfig = config.TLS
	return s
}

func (s *Server) newServer(h http.Handler) *http.Server {
	only1 := &http.Protocols{}
	only1.SetHTTP1(true)
	return &http.Server{
		Handler:           h,
		Protocols:         only1,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       s.conns.known,
		ConnState:         s.conns.changed,
		ErrorLog:          log.New(logLines{s.log}, "", 0),
	}
}

// Serve serves a listener until Shutdown, and then returns nil.
func (s *Server) Serve(l net.Listener) error {
	var err error
	if s.config.TLS != nil {
		err = s.server.ServeTLS(&bounded{Listener: l, conns: s.conns, tls: true}, "", "")
	} else {
		err = s.server.Serve(&bounded{Listener: l, conns: s.conns})
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http listener %s: %w", l.Addr(), err)
	}
	return nil
}

// ServeHealth serves /healthz, /readyz and /metrics alone, in the clear,
// until Shutdown, and then returns nil.
func (s *Server) ServeHealth(l net.Listener) error {
	if err := s.looks.Serve(&bounded{Listener: l, conns: s.conns}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics listener %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown ends event streams, lets running calls end until ctx does, and
// then closes their connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	err := errors.Join(s.server.Shutdown(ctx), s.looks.Shutdown(ctx))
	if err != nil {
		_, _ = s.server.Close(), s.looks.Close() // err is the one to tell
		return fmt.Errorf("http: calls were still running: %w", err)
	}
	return nil
}

// logLines writes what net/http wants to say as debug lines: it is about
// single connections.
type logLines struct{ log hclog.Logger }

func (l logLines) Write(b []byte) (int, error) {
	l.log.Debug("http", "message", string(b[:max(0, len(b)-1)]))
	return len(b), nil
}
