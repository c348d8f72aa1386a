package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/ice"
	"floe/transport/ice/proto"
)

// publisher publishes through one node. With each new connection it is a new
// publisher, since order holds within a connection.
type publisher struct {
	events *Events
	node   Node
	mode   string
	random *rand.Rand

	conn    *ice.Conn
	life    int
	seq     uint64
	objects map[string]proto.Identity // topic to its publisher
	pending []check.Sent              // oneway events the node may not have read yet
}

// pingEvery is how many oneway events are sent before the node is asked
// whether it has read them.
const pingEvery = 8

// step publishes one event; where there is no connection it makes one.
func (p *publisher) step() {
	if p.conn == nil && !p.connect() {
		return
	}
	topic := eventTopics[p.random.IntN(len(eventTopics))]
	cost, context := drawCost(p.random)
	p.seq++
	s := check.Sent{Publisher: p.name(), Seq: p.seq, Topic: topic, Cost: cost, Node: p.node.Name, Mode: p.mode, Start: p.events.Sent.Now()}
	r := ice.Request{Identity: p.objects[topic], Operation: "event", Context: context, Encaps: ice.Text(payload(topic, s.Publisher, s.Seq, cost))}
	if p.mode == "twoway" {
		_, err := p.conn.Call(r, Patience)
		p.record(s, err)
		p.dropOn(err)
		return
	}
	err := p.conn.Send(r, Patience)
	p.pending = append(p.pending, s)
	if err != nil || len(p.pending) >= pingEvery {
		p.confirm()
	}
}

func (p *publisher) name() string { return fmt.Sprintf("%s-%s-%d", p.node.Name, p.mode, p.life) }

// connect finds the publisher objects; a node that does not answer is asked
// again at the next step.
func (p *publisher) connect() bool {
	conn, err := ice.Dial(p.node.iceAddress(), Patience)
	if err != nil {
		return false
	}
	p.conn, p.life, p.seq, p.objects = conn, p.life+1, 0, map[string]proto.Identity{}
	for _, name := range eventTopics {
		topic, err := conn.TopicProxy(name, Patience)
		if err != nil {
			p.dropOn(err)
			return false
		}
		object, err := conn.Publisher(topic.Identity, Patience)
		if err != nil {
			p.dropOn(err)
			return false
		}
		p.objects[name] = object.Identity
	}
	return true
}

// confirm asks whether the oneway events sent so far were read.
func (p *publisher) confirm() {
	err := p.conn.Ping(Patience)
	for _, s := range p.pending {
		if err != nil {
			err = fmt.Errorf("%v", err) // that the question was not sent says nothing about the events
		}
		p.record(s, err)
	}
	p.pending = p.pending[:0]
	p.dropOn(err)
}

// record writes down what became of an event.
func (p *publisher) record(s check.Sent, err error) {
	s.End, s.Outcome = p.events.Sent.Now(), history.OK
	if errors.Is(err, ice.ErrNotSent) {
		s.Outcome = history.Fail
	} else if err != nil {
		s.Outcome = history.Info
	}
	p.events.Sent.Write(s)
}

// dropOn gives the connection up after an error.
func (p *publisher) dropOn(err error) {
	if err != nil && p.conn != nil {
		p.conn.Close()
		p.conn = nil
	}
}

// disconnect ends the publisher.
func (p *publisher) disconnect() {
	if p.conn != nil {
		p.confirm()
	}
	if p.conn != nil {
		p.conn.Close()
		p.conn = nil
	}
}
