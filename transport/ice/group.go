package ice

import (
	"context"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// Group is the replicated state, as a *cluster.Node gives it.
type Group interface {
	// View returns the local copy.
	View() *fsm.View
	// Changed returns a channel closed at the next change of the local copy.
	Changed() <-chan struct{}
	// Propose has an op applied and returns once the local copy has it. from
	// says who asked, for people.
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
	// Read returns a view at least as new as every change acknowledged before
	// the call, or an error where no leader is reached.
	Read(ctx context.Context) (*fsm.View, error)
}

// Hub takes events. Its lookups know every topic that Group's View has.
type Hub interface {
	// Topic returns the topic of that name, nil if there is none.
	Topic(name string) Topic
}

// Topic is where the events of one topic go. No method waits.
type Topic interface {
	// ID returns the topic's id.
	ID() topics.ID
	// Alive is false once the topic is destroyed.
	Alive() bool
	// Publish takes an event published on the topic. What it gives to send is
	// gathered in b, which may be nil.
	Publish(ev *delivery.Event, b *delivery.Burst)
	// Deliver takes an event that came over a link.
	Deliver(ev *delivery.Event, b *delivery.Burst)
	// PublishTo takes an event for one subscriber; false: there is none such.
	PublishTo(id topics.Identity, ev *delivery.Event, b *delivery.Burst) bool
}

// Caller calls objects of other Ice servers, as a *client.Client does.
type Caller interface {
	// Call makes one twoway call and returns the answer, whatever its status.
	// requestContext and params (a whole encapsulation) may be nil.
	Call(ctx context.Context, target *proto.Proxy, operation string, mode byte, requestContext proto.Context, params []byte) (proto.Reply, error)
}

// Dedupe recognises a forward that another floe cluster repeats because it
// did not hear the answer to the first, as a *client.Dedupe does.
type Dedupe interface {
	// Repeated tells whether a forward with that request context came
	// before, and remembers it.
	Repeated(requestContext proto.Context) bool
}

// FromHub makes a Hub of the delivery engine.
func FromHub(h *delivery.Hub) Hub { return engine{h} }

type engine struct{ *delivery.Hub }

// Topic returns the engine's topic, nil if there is none.
func (e engine) Topic(name string) Topic {
	if t := e.Hub.Topic(name); t != nil {
		return t
	}
	return nil
}
