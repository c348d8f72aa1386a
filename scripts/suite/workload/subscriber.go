package workload

import (
	"fmt"
	"net"
	"sync/atomic"

	"floe/scripts/suite/check"
	"floe/scripts/suite/ice"
	"floe/transport/ice/proto"
)

// Listen opens a listener on the address of the node of that name.
type Listen func(node string) (net.Listener, error)

// subscriber is an Ice object that writes down what it gets.
type subscriber struct {
	check.Subscriber
	server *ice.Server
	last   atomic.Int64 // time of the last arrival
}

// kinds of subscription: the proxy's mode, and whether order is asked for.
var kinds = []struct {
	name    string
	mode    proto.ProxyMode
	ordered bool
}{
	{"ordered", proto.Twoway, true},
	{"oneway", proto.Oneway, false},
	{"twoway", proto.Twoway, false},
	{"batch", proto.BatchOneway, false},
}

// subscribe subscribes, beside each node and through it, one ordered
// subscriber to each topic, and one of another kind.
func (e *Events) subscribe() error {
	for i, n := range e.Nodes {
		if err := e.subscribeBeside(n, 1+i%(len(kinds)-1)); err != nil {
			return fmt.Errorf("subscribe through %s: %w", n.Name, err)
		}
	}
	return nil
}

func (e *Events) subscribeBeside(n Node, other int) error {
	conn, err := ice.Dial(n.iceAddress(), Patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, topic := range eventTopics {
		for _, kind := range []int{0, other} {
			if err := e.add(conn, n, topic, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Events) add(conn *ice.Conn, n Node, topic string, kind int) error {
	k := kinds[kind]
	s := &subscriber{Subscriber: check.Subscriber{Name: fmt.Sprintf("%s-%s-%s", n.Name, topic, k.name), Topic: topic, Node: n.Name, Ordered: k.ordered}}
	l, err := e.Listen(n.Name)
	if err != nil {
		return err
	}
	s.server = ice.Serve(l, func(r *proto.Request) { e.arrived(s, r) })
	e.subscribers = append(e.subscribers, s)
	proxy := proto.NewProxy(proto.Identity{Name: s.Name, Category: "suite"}, s.server.Endpoint())
	proxy.Mode = k.mode
	qos := map[string]string{"retryCount": "-1"} // it stays, whatever happens
	if k.ordered {
		qos["reliability"] = "ordered"
	}
	t, err := conn.TopicProxy(topic, Patience)
	if err != nil {
		return err
	}
	return conn.Subscribe(t.Identity, qos, proxy, Patience)
}

// arrived writes one delivery down.
func (e *Events) arrived(s *subscriber, r *proto.Request) {
	if string(r.Operation) != "event" {
		return // the service asks whether we are there
	}
	now := e.Got.Now() // first: what follows may wait for the processor
	text, err := ice.ReadText(r.Encaps)
	if err != nil {
		text = "unreadable" // an event that nobody sent: the checker says so
	}
	context, _ := r.Context.Lookup("cost")
	g := check.Got{Time: now, Subscriber: s.Name, Topic: s.Topic, Context: string(context)}
	g.Origin, g.Publisher, g.Seq, g.Cost = parsePayload(text)
	s.last.Store(g.Time)
	e.Got.Write(g)
}
