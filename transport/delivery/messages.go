package delivery

import (
	"errors"

	"floe/fsm"
	"floe/topics"
)

// Unsent says that an event can't leave as a message, and why.
type Unsent struct {
	// Reason is what its loss is counted as.
	Reason Reason
	// Text says what is wrong, in words.
	Text string
}

// Error is the text.
func (e *Unsent) Error() string { return e.Text }

var errNoMessages = &Unsent{Reason: Refused, Text: "this node sends no messages"}

// exit hands the events of a link that leads to messages on. They wait in no
// queue here: who sends messages has a queue for each endpoint.
type exit struct {
	to   topics.Messages
	send func(to topics.Messages, ev *Event) error
}

// leave hands an event on as a message, and counts it.
func (r *Receiver) leave(ev *Event) {
	err := error(errNoMessages)
	if r.exit.send != nil {
		err = r.exit.send(r.exit.to, ev)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == closed {
		return
	}
	r.queue.pass()
	if err == nil {
		r.queue.Done(1)
		return
	}
	reason := Refused
	var unsent *Unsent
	if errors.As(err, &unsent) {
		reason = unsent.Reason
	}
	r.queue.Lose(1, reason)
	r.lastErr, r.lastFail = brief(err), r.hub.now()
}

// idle is the sending end of a receiver that never has anything to send.
type idle struct{}

func (idle) Ready(*Burst) {}
func (idle) Urge()        {}
func (idle) Close()       {}

// DeliverMessage brings an event that was made from a message to the topic's
// subscribers, on all nodes. It crosses no link, whatever it costs. The
// error, an *fsm.Refusal, says that there is no such topic here.
func (h *Hub) DeliverMessage(topic string, ev *Event) error {
	t := h.Topic(topic)
	if t == nil {
		return &fsm.Refusal{Kind: topics.ErrNoTopic, Name: topic}
	}
	t.Deliver(ev, nil)
	return nil
}
