package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(sinkEnv)); err == nil {
		runSinks(n)
		return
	}
	goleak.VerifyTestMain(m)
}

// verdict is what a fake server does with one request.
type verdict int

const (
	answerOK verdict = iota
	answerNothing
	answerUserException
	answerObjectNotExist
	answerUnknown
	closeGracefully // before the request is executed
	die             // after the request is executed
)

// server is a subscriber, or any other Ice object, on a real socket.
type server struct {
	t        *testing.T
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	judge    func(*proto.Request) verdict
	result   func(*proto.Request) []byte // encapsulation of a successful answer
	mute     bool                        // sends no ValidateConnection
	deaf     bool                        // reads nothing
	got      []string                    // operations executed
	raw      [][]byte                    // messages, in order
	requests []proto.Request             // with copied memory
	batches  []int                       // sizes of the BatchRequests
	waiting  int                         // requests not answered
	peak     int
	held     []func()
	conns    map[net.Conn]bool
	accepted int
	closes   int // CloseConnection messages
	beat     func()
}

func newServer(t *testing.T) *server { return serverAt(t, "127.0.0.1:0") }

func serverAt(t *testing.T, address string) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l)
}

// serverOn makes a server whose connections go through what wrap does.
func serverOn(t *testing.T, wrap func(net.Listener) net.Listener) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, wrap(l))
}

func serve(t *testing.T, l net.Listener) *server {
	s := &server{t: t, listener: l, conns: make(map[net.Conn]bool), judge: func(*proto.Request) verdict { return answerOK }}
	s.wg.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *server) address() string { return s.listener.Addr().String() }

func (s *server) endpoint() proto.Endpoint {
	a := s.listener.Addr().(*net.TCPAddr)
	return proto.Endpoint{Type: proto.EndpointTCP, Host: "127.0.0.1", Port: int32(a.Port), Timeout: 60000}
}

func (s *server) stop() {
	s.listener.Close()
	s.cut()
	s.wg.Wait()
}

// cut breaks all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc := range s.conns {
		abort(nc)
		nc.Close()
	}
}

// abort makes Close reset the connection.
func abort(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
}

func (s *server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[nc] = true
		s.accepted++
		mute, deaf := s.mute, s.deaf
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(nc, mute, deaf) })
	}
}

func (s *server) serve(nc net.Conn, mute, deaf bool) {
	defer func() { nc.Close(); s.mu.Lock(); delete(s.conns, nc); s.mu.Unlock() }()
	if !mute {
		nc.Write(proto.AppendValidate(nil))
	}
	if deaf {
		nc.(*net.TCPConn).SetReadBuffer(64 << 10)
		for s.isDeaf() {
			time.Sleep(time.Millisecond)
			if _, err := nc.Write(nil); err != nil {
				return
			}
		}
	}
	r := bufio.NewReader(nc)
	for {
		message, h, err := readWhole(r)
		if err != nil || !s.handle(nc, message, h) {
			return
		}
	}
}

func (s *server) isDeaf() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deaf && len(s.conns) > 0
}

func readWhole(r io.Reader) ([]byte, proto.Header, error) {
	head := make([]byte, proto.HeaderSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, proto.Header{}, err
	}
	h, err := proto.ParseHeader(head, proto.DefaultMaxSize)
	if err != nil {
		return nil, h, err
	}
	message := append(head, make([]byte, h.Size-proto.HeaderSize)...)
	_, err = io.ReadFull(r, message[proto.HeaderSize:])
	return message, h, err
}

func (s *server) handle(nc net.Conn, message []byte, h proto.Header) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Type == proto.MessageValidateConnection && s.beat != nil {
		s.beat()
	}
	if h.Type != proto.MessageValidateConnection {
		s.raw = append(s.raw, message)
	}
	body := message[proto.HeaderSize:]
	switch h.Type {
	case proto.MessageCloseConnection:
		s.closes++
		return false
	case proto.MessageRequest:
		var r proto.Request
		if err := proto.ParseRequest(body, &r); err != nil {
			s.t.Error(err)
			return false
		}
		return s.request(nc, r)
	case proto.MessageBatchRequest:
		return s.batch(body)
	}
	return true
}

func (s *server) batch(body []byte) bool {
	b, err := proto.ParseBatch(body)
	var r proto.Request
	n := 0
	for b.Next(&r) {
		n++
		s.got = append(s.got, string(r.Operation))
	}
	if err != nil || b.Err() != nil {
		s.t.Error(err, b.Err())
	}
	s.batches = append(s.batches, n)
	return true
}

func (s *server) request(nc net.Conn, r proto.Request) bool {
	v := s.judge(&r)
	if v == closeGracefully {
		nc.Write(proto.AppendClose(nil))
		io.Copy(io.Discard, nc)
		return false
	}
	s.got = append(s.got, string(r.Operation))
	s.requests = append(s.requests, r)
	if v == die {
		abort(nc)
		return false
	}
	if r.ID == 0 {
		return true
	}
	s.waiting++
	s.peak = max(s.peak, s.waiting)
	answer := func() {
		s.waiting--
		nc.Write(s.answer(&r, v))
	}
	if v == answerNothing {
		s.held = append(s.held, answer)
		return true
	}
	answer()
	return true
}

func (s *server) answer(r *proto.Request, v verdict) []byte {
	switch v {
	case answerUserException:
		return proto.AppendUserException(nil, r.ID, proto.Encoding11, proto.NoSuchTopic("x"))
	case answerObjectNotExist:
		return proto.AppendNotExist(nil, proto.StatusObjectNotExist, r)
	case answerUnknown:
		return proto.AppendUnknown(nil, r.ID, proto.StatusUnknownException, "servant threw")
	}
	if s.result != nil {
		reply := proto.Reply{ID: r.ID, Encaps: s.result(r)}
		return proto.AppendReply(nil, &reply)
	}
	return proto.AppendEmptyReply(nil, r.ID, proto.Encoding11)
}

// release answers all that was held back.
func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, answer := range s.held {
		answer()
	}
	s.held = nil
}

func (s *server) set(f func(s *server)) { s.mu.Lock(); defer s.mu.Unlock(); f(s) }

func (s *server) executed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

func always(v verdict) func(s *server) {
	return func(s *server) { s.judge = func(*proto.Request) verdict { return v } }
}

// once gives a verdict to the first request with that operation alone.
func once(operation string, v verdict) func(s *server) {
	return func(s *server) {
		s.judge = func(r *proto.Request) verdict {
			if string(r.Operation) == operation {
				operation = "\x00"
				return v
			}
			return answerOK
		}
	}
}

// group is a replicated state without replication.
type group struct {
	mu      sync.Mutex
	view    *fsm.View
	changed chan struct{}
}

func newGroup() *group {
	g := &group{changed: make(chan struct{}), view: &fsm.View{Graph: topics.New("IceStorm")}}
	g.apply(func(old *topics.Graph) *topics.Graph { next, _, _ := old.Create("a"); return next })
	return g
}

func (g *group) View() *fsm.View          { g.mu.Lock(); defer g.mu.Unlock(); return g.view }
func (g *group) Changed() <-chan struct{} { g.mu.Lock(); defer g.mu.Unlock(); return g.changed }

func (g *group) Propose(_ context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	for _, v := range op.(fsm.Reap).Verdicts {
		g.apply(func(old *topics.Graph) *topics.Graph {
			next, removed, _ := old.Unsubscribe("a", v.Identity, v.Serial)
			if !removed {
				next, _ = old.Unlink("a", v.Identity)
			}
			return next
		})
	}
	return fsm.Result{}, nil
}

func (g *group) apply(f func(*topics.Graph) *topics.Graph) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view = &fsm.View{Index: g.view.Index + 1, Graph: f(g.view.Graph)}
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *group) subscribe(id string, p proto.Proxy, qos ...topics.Setting) {
	p.Identity = proto.Identity{Name: id}
	g.subscribeAs(topics.Identity{Name: id}, p, qos...)
}

func (g *group) subscribeAs(id topics.Identity, p proto.Proxy, qos ...topics.Setting) {
	s := topics.Subscription{Identity: id, QoS: qos, Proxy: proto.AppendProxy(nil, &p, proto.Encoding11)}
	g.apply(func(old *topics.Graph) *topics.Graph { next, _, _ := old.Subscribe("a", s); return next })
}

func (g *group) subscribed(id string) bool {
	return g.View().Graph.Topic("a").Subscription(topics.Identity{Name: id}) != nil
}

func (g *group) linkTo(r topics.Remote) {
	g.apply(func(old *topics.Graph) *topics.Graph { next, _, _ := old.LinkRemote("a", r, 0, false); return next })
}

// bench is a hub with a client, both with short times.
type stand struct {
	*delivery.Hub
	group  *group
	client *Client
	stop   func()
}

func newStand(t testing.TB, config Config, hub delivery.Config) *stand {
	t.Helper()
	setDefault(&config.FlushInterval, 50*time.Millisecond)
	c := New(config)
	g := newGroup()
	hub.Group, hub.Opener = g, c
	setDefault(&hub.ReapEvery, time.Millisecond)
	setDefault(&hub.Interval, 400*time.Millisecond)
	setDefault(&hub.FirstDelay, 2*time.Millisecond)
	h := delivery.New(hub)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		limit, release := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer release()
		c.Close(limit)
	})
	t.Cleanup(stop)
	return &stand{Hub: h, group: g, client: c, stop: stop}
}

func (s *stand) publish(names ...string) {
	for _, name := range names {
		s.Topic("a").Publish(event(name), nil)
	}
}

func (s *stand) receiver() delivery.ReceiverStats {
	for _, topic := range s.Stats().Topics {
		for _, r := range topic.Receivers {
			return r
		}
	}
	return delivery.ReceiverStats{}
}

func event(name string) *delivery.Event {
	ev, err := delivery.NewEvent(proto.AppendTail(nil, name, 0, nil, proto.AppendEmptyEncapsulation(nil, proto.Encoding11)))
	if err != nil {
		panic(err)
	}
	return ev
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("e%d", i)
	}
	return list
}

func proxyTo(mode proto.ProxyMode, endpoints ...proto.Endpoint) proto.Proxy {
	p := proto.NewProxy(proto.Identity{Name: "s"}, endpoints...)
	p.Mode = mode
	return p
}

func retry(n string) topics.Setting { return topics.Setting{Key: "retryCount", Value: n} }

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
