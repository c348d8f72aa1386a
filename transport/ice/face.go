package ice

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// Config says what a [Face] needs. Group, Hub, Node and Endpoints are
// required.
type Config struct {
	// Node is this node's id in the Raft group.
	Node string
	// Group is the replicated state.
	Group Group
	// Hub takes the events.
	Hub Hub
	// Endpoints are what others reach this node at, in Ice's string form,
	// such as "tcp -h 10.0.0.1 -p 10000 -t 60000".
	Endpoints []string
	// Caller reaches other Ice servers; nil: none can be linked to.
	Caller Caller
	// Dedupe recognises repeated forwards; nil: none is.
	Dedupe Dedupe
	// Leader returns the leader's id, "" where unknown, and the Raft term;
	// nil: unknown.
	Leader func() (id string, term uint64)
	// Live tells whether a node can be reached; nil: all can.
	Live func(id string) bool
	// Access says who may do what; its zero value keeps nobody out.
	Access Access
	// Adapter is what to register at an IceGrid registry.
	Adapter Adapter
	// Server bounds connections and messages; its Objects and Log are ours.
	Server server.Config
	// ConfirmTimeout bounds asking the leader before a negative answer (1s).
	ConfirmTimeout time.Duration
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
}

// Face serves the objects of IceStorm. All methods are safe for concurrent use.
type Face struct {
	config    Config
	log       hclog.Logger
	group     Group
	hub       Hub
	own       []proto.Endpoint
	sizeMax   int
	server    *server.Server
	addresses atomic.Pointer[addresses]
	manager   server.Servant
	finder    server.Servant
	locator   server.Servant
	topicType *server.Interface[*topic]
	refusals  refusals

	stop       context.CancelFunc
	background sync.WaitGroup
}

// New returns a Face that listens nowhere yet. It starts to register the
// adapter where one is configured; Shutdown ends that. The error names an
// endpoint that can't be read.
func New(config Config) (*Face, error) {
	f := &Face{config: config, log: config.Log, group: config.Group, hub: config.Hub}
	if f.log == nil {
		f.log = hclog.NewNullLogger()
	}
	if f.config.ConfirmTimeout == 0 {
		f.config.ConfirmTimeout = time.Second
	}
	own, err := parseEndpoints(config.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("published endpoints: %w", err)
	}
	f.own = own
	if f.sizeMax = config.Server.MessageSizeMax; f.sizeMax == 0 {
		f.sizeMax = proto.DefaultMaxSize
	}
	f.manager, f.finder, f.locator = managerType.Bind(f), finderType.Bind(f), locatorType.Bind(f)
	f.topicType = newTopicType()
	config.Server.Objects, config.Server.Log = f, f.log
	if config.Access.rules != nil {
		config.Server.Allow = f.allow
	}
	config.Server.NewSession = func() server.Session { return new(delivery.Burst) }
	f.server = server.New(config.Server)
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	if config.Adapter.ID != "" {
		f.background.Go(func() { f.keepRegistered(ctx) })
	}
	return f, nil
}

// Serve accepts connections until Shutdown. It closes l.
func (f *Face) Serve(l net.Listener, t server.Transport) error { return f.server.Serve(l, t) }

// ServePacket takes events as datagrams until Shutdown. It closes p.
func (f *Face) ServePacket(p net.PacketConn) error { return f.server.ServePacket(p, "udp") }

// Drain with on closes all connections gracefully and sends new clients to
// other nodes; without, it takes new ones again.
func (f *Face) Drain(on bool) { f.server.Drain(on) }

// Shutdown withdraws the adapter's registration, finishes what was begun,
// tells the clients to go elsewhere, and waits for all goroutines. Where ctx
// ends first the rest is cut off.
func (f *Face) Shutdown(ctx context.Context) error {
	f.stop()
	f.background.Wait()
	return f.server.Shutdown(ctx)
}

// Stats returns the figures of every listener.
func (f *Face) Stats() []server.Stats { return f.server.Stats() }

// PublishedEndpoints returns this node's endpoints as strings, to be recorded
// as its addresses of the listener "ice".
func (f *Face) PublishedEndpoints() []string {
	out := make([]string, len(f.own))
	for i := range f.own {
		out[i] = f.own[i].String()
	}
	return out
}

// propose has an op applied and turns what goes wrong into what the client
// of r is to be told.
func (f *Face) propose(ctx context.Context, r *server.Request, op fsm.Op) (fsm.Result, error) {
	result, err := f.group.Propose(ctx, op, "ice "+caller(r))
	return result, wireError(r, err)
}

// fresh returns a view in which every change acknowledged before the call is
// found, or the local copy where no leader answers in time.
func (f *Face) fresh(ctx context.Context) *fsm.View {
	ctx, cancel := context.WithTimeout(ctx, f.config.ConfirmTimeout)
	defer cancel()
	if v, err := f.group.Read(ctx); err == nil {
		return v
	}
	return f.group.View()
}
