package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"floe/cluster"
	"floe/routing/derive"
	"floe/transport/certs"
	"floe/transport/delivery"
	"floe/transport/federation"
	"floe/transport/http"
	"floe/transport/ice"
	"floe/transport/ice/client"
	"floe/transport/native"
	"floe/transport/nbi"
	"floe/transport/rmr/manager"
	"floe/transport/rmr/probe"
	"floe/transport/rmr/relay"
	"floe/transport/wire"
)

// node is one running node: every part, in the order they are built. Each
// part knows those above it, none below.
type node struct {
	options *options
	log     hclog.InterceptLogger
	started time.Time

	tls        *certs.Source // nil: no certificates
	iceTLS     *certs.Source // of Ice over ssl; nil: none
	port       *wire.Port
	sockets    *sockets
	cluster    *cluster.Node
	federation *federation.Federation
	sender     *client.Client
	hub        *delivery.Hub
	face       *ice.Face
	native     *native.Native
	bridge     bridge
	relay      *relay.Relay
	manager    *manager.Manager
	prober     *probe.Prober
	nbi        *nbi.Server
	sources    *nbi.Sources
	oldManager derive.Config // of --nbi-config
	http       *http.Server

	// listening is where each listener is, for people.
	listening map[string]string
	// leave is closed when the node left its cluster and has to end.
	leave     chan struct{}
	leaveOnce sync.Once
	stopping  atomic.Bool   // the faces are being stopped
	leaders   atomic.Uint64 // how many this node saw come
	// seedProblem says why the seed of routes can't be loaded; nil: it can.
	seedProblem atomic.Pointer[string]
	changes     *prometheus.HistogramVec
	settings    sync.Mutex // guards the options that change while the node runs
}

// build makes a node that listens and has its data, and does nothing yet. On
// error nothing is left open.
func build(o *options) (*node, error) {
	n := &node{options: o, started: time.Now(), changes: newChanges(), leave: make(chan struct{}), listening: map[string]string{}}
	n.log = newLogger(o)
	for _, step := range []func() error{n.openTLS, n.openPort, n.openSockets, n.openCluster, n.makeFederation, n.makeDelivery, n.makeIce, n.makeNative, n.makeRMR, n.makeNBI, n.makeHTTP} {
		if err := step(); err != nil {
			n.abandon()
			return nil, err
		}
	}
	n.serveReports() // of all parts, so not before they are there
	n.announce()
	return n, nil
}

func newLogger(o *options) hclog.InterceptLogger {
	return hclog.NewInterceptLogger(&hclog.LoggerOptions{
		Name:       "floe",
		Level:      hclog.LevelFromString(o.text("log-level")),
		Output:     o.err,
		JSONFormat: o.text("log-format") == "json",
	})
}

// abandon closes what was opened by a build that failed.
func (n *node) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if n.face != nil {
		_ = n.face.Shutdown(ctx) // the build's error is the one to tell
	}
	if n.manager != nil {
		n.manager.Shutdown(ctx)
	}
	if n.relay != nil {
		_ = n.relay.Shutdown(ctx)
	}
	if n.sender != nil {
		n.sender.Close(ctx)
	}
	if n.cluster != nil {
		_ = n.cluster.Close()
	}
	if n.sockets != nil {
		n.sockets.close()
	}
	if n.port != nil {
		_ = n.port.Shutdown(ctx)
	}
}

func (n *node) openPort() error {
	o := n.options
	advertise := o.text("advertise")
	if advertise != "" {
		advertise = net.JoinHostPort(advertise, "0")
	}
	port, err := wire.Listen(wire.Config{Options: n.peerTLS(), Bind: o.at["peer"][0], Advertise: advertise, Log: n.log.Named("peer")})
	if err != nil {
		return err
	}
	n.port = port
	n.listening["peer"] = port.Addr().String()
	return nil
}

func (n *node) openSockets() error {
	host, _, err := net.SplitHostPort(n.port.Advertised())
	if err != nil {
		return err
	}
	n.sockets, err = openSockets(n.options, host, n.iceServerTLS())
	if err != nil {
		return err
	}
	for name, at := range n.sockets.listening {
		n.listening[name] = at
	}
	return nil
}

func (n *node) openCluster() error {
	o := n.options
	timing, err := cluster.ParseTiming(o.text("timing"))
	if err != nil {
		return usagef("--timing: %v", err)
	}
	key, err := gossipKey(o)
	if err != nil {
		return err
	}
	n.cluster, err = cluster.Open(cluster.Config{
		DataDir: o.text("data"),
		ID:      n.nodeID(),
		Network: cluster.Network{
			Raft: n.port.RaftLayer(), Gossip: n.port.GossipTransport(),
			Caller: n.port.Client(), Server: n.port, Address: n.port.Advertised(),
		},
		Addresses:         n.sockets.published,
		Join:              o.list("join"),
		JoinToken:         o.text("join-token"),
		JoinByToken:       o.encrypted("peer"),
		BootstrapExpect:   o.number("bootstrap-expect"),
		NonVoter:          o.text("non-voter") == "true",
		Instance:          o.text("ice-instance"),
		Timing:            timing,
		SnapshotThreshold: uint64(o.number("snapshot-threshold")),
		SnapshotInterval:  o.duration("snapshot-interval"),
		DiskStall:         o.duration("disk-stall"),
		AutoRemove:        cluster.AutoRemove{After: o.duration("auto-remove"), Min: o.number("auto-remove-min")}, // off is no duration: 0
		ExitOnDiskError:   o.text("on-storage-error") == "exit",
		GossipKey:         key,
		Program:           programVersion(),
		Log:               n.log,
	})
	return err
}

func (n *node) makeFederation() error {
	n.federation = federation.New(federation.Config{Group: n.cluster, LinkProxy: n.linkProxy})
	n.federation.Register(n.cluster.HandleOpen)
	return nil
}

func (n *node) makeHTTP() error {
	n.http = http.New(http.Config{
		TLS:      n.httpTLS(),
		Group:    n.audited(),
		Audit:    n.log.Named("audit"),
		Nodes:    nodesFace{n},
		Events:   eventsFace{n.native},
		Clusters: n.federation,
		Settings: settingsFace{n},
		Figures:  n.hub,
		Natives:  n.native,
		Cluster:  clusterFace{n},
		Apps:     appsFace{n.manager},
		Log:      n.log.Named("http"),

		OldManager: readOldManager,

		RefuseReserved: n.options.text("refuse-reserved") == "true",
		Program:        programVersion(),

		Collectors: []prometheus.Collector{&gatherer{look: n.figures}, n.changes},
	})
	return nil
}

func (n *node) makeNative() error {
	o := n.options
	n.native = native.New(native.Config{
		Node:           n.cluster.ID(),
		Group:          n.cluster,
		Hub:            n.hub,
		Open:           n.openEvents,
		MessageSizeMax: o.size("message-size-max"),
		QueueEvents:    o.number("queue-events"),
		QueueBytes:     o.size("queue-bytes"),
		Log:            n.log.Named("native"),
	})
	n.hub.Tap(n.native)
	n.port.ServeStreams(n.serveStream)
	return nil
}

// announce tells the others where this node's listeners are.
func (n *node) announce() {
	if n.face != nil {
		n.sockets.published["ice"] = n.face.PublishedEndpoints()
	}
	n.cluster.SetAddresses(n.sockets.published)
}

// part is one thing that runs until its context ends.
type part struct {
	name string
	run  func(ctx context.Context) error
	stop context.CancelFunc
	done chan struct{}
}

// run runs the node until ctx ends, the node leaves, or a part fails. It
// returns how many events were left undelivered.
func (n *node) run(ctx context.Context) (left int, err error) {
	failed := make(chan error, 16)
	core := n.startPart(failed, "cluster", n.cluster.Run)
	secrets := n.startPart(failed, "tls", n.runTLS)
	hub := n.startPart(failed, "delivery", n.hub.Run)
	exchange := n.startPart(failed, "native", n.native.Run)
	leaders := n.startPart(failed, "leaders", n.countLeaders)
	seed := n.startPart(failed, "seed", n.seedRoutes)
	manager := n.startPart(failed, "rtg", n.runManager)
	prober := n.startPart(failed, "probe", n.prober.Run)
	sources := n.startPart(failed, "nbi", n.runSources)
	var faces sync.WaitGroup
	n.serveFaces(&faces, failed)

	select {
	case <-ctx.Done():
		n.log.Info("stopping")
	case <-n.leave:
		n.log.Info("stopping, as the node left its cluster")
	case err = <-failed:
		n.log.Error("stopping, as a part of the node failed") // how is said at the end, once
	}

	// The reverse of the start: nothing new comes in, what is queued goes
	// out, and only then the group is left and the data closed.
	timeout := n.options.duration("stop-timeout")
	limit, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	owed, cancel := context.WithTimeout(limit, timeout-min(timeout/4, client.FarewellTime))
	defer cancel()
	dropped := n.native.Stats().Dropped
	n.stopFaces(limit)
	faces.Wait()
	left = n.hub.Drain(owed) + int(n.native.Stats().Dropped-dropped)
	sources.end()
	prober.end()
	manager.end()
	exchange.end()
	hub.end()
	n.sender.Close(owed)
	seed.end()
	leaders.end()
	secrets.end()
	core.end()
	if shut := n.port.Shutdown(limit); shut != nil {
		n.log.Warn("the peer port did not end in time", "error", shut)
	}
	return left, errors.Join(err, firstError(failed, err))
}

// firstError is what a part said while it was being stopped.
func firstError(failed chan error, already error) error {
	select {
	case err := <-failed:
		if already == nil {
			return err
		}
	default:
	}
	return nil
}

func (n *node) startPart(failed chan<- error, name string, run func(context.Context) error) *part {
	p := &part{name: name, run: run, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil {
			failed <- err
		}
	}()
	return p
}

func (p *part) end() {
	p.stop()
	<-p.done
}

// serveFaces serves every listener.
func (n *node) serveFaces(wg *sync.WaitGroup, failed chan<- error) {
	serve := func(f func() error) {
		wg.Go(func() {
			if err := f(); err != nil && !n.stopping.Load() {
				failed <- err
			}
		})
	}
	for _, l := range n.sockets.ice {
		serve(func() error { return n.face.Serve(l.Listener, l.transport) })
	}
	for _, p := range n.sockets.packets {
		serve(func() error { return n.face.ServePacket(p) })
	}
	for _, l := range n.sockets.plain["http"] {
		serve(func() error { return n.http.Serve(l) })
	}
	for _, l := range n.sockets.plain["metrics"] {
		serve(func() error { return n.http.ServeHealth(l) })
	}
	n.serveRMR(serve)
}

// stopFaces ends all listeners, within half of the time there is: a client
// that stands still must not take it from those that are owed events.
func (n *node) stopFaces(ctx context.Context) {
	n.stopping.Store(true) // a face that is asked to serve only now refuses, which is no failure
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { n.stopRMR(ctx) })
	all.Go(func() {
		if err := n.http.Shutdown(ctx); err != nil {
			n.log.Warn("http did not end in time", "error", err)
		}
	})
	all.Go(func() {
		if err := n.face.Shutdown(ctx); err != nil {
			n.log.Warn("ice did not end in time", "error", err)
		}
	})
	all.Wait()
}

// left has the node end after it left its cluster.
func (n *node) leftCluster() { n.leaveOnce.Do(func() { close(n.leave) }) }

var errNoAddress = errors.New("no address is known of that node")

// openEvents opens a stream of native events to another node.
func (n *node) openEvents(ctx context.Context, id string) (native.Stream, error) {
	address, ok := n.cluster.PeerAddress(id)
	if !ok {
		return nil, fmt.Errorf("node %s: %w", id, errNoAddress)
	}
	return n.port.Client().OpenStream(ctx, address, eventStream, helloBytes(n.cluster.ID(), n.cluster.Identity().ClusterID))
}
