package delivery

import "floe/topics"

// Sender is the sending end of one receiver, given by a face. Its methods
// are called by publishers and timers; none may block.
type Sender interface {
	// Ready says that events wait. The sender takes from its receiver until
	// [Receiver.Rest] reports true; only then is it told again. A sender
	// whose connection is there may have b flush it; b may be nil.
	Ready(b *Burst)
	// Urge says that the queue is half full, or that the node wants to
	// stop: a sender that holds events back to gather them sends now.
	Urge()
	// Close says that nothing is to be sent any more. The sender lets go of
	// the receiver; it may still report what becomes of events under way.
	Close()
}

// Opener makes the sending ends. A subscription or link that can't be sent to
// gets a sender all the same, which calls [Receiver.Fail] once it is Ready.
// The methods must not block and must not call back into the receiver.
type Opener interface {
	Subscriber(r *Receiver, t *topics.Topic, s *topics.Subscription) Sender
	Link(r *Receiver, t *topics.Topic, l *topics.Link) Sender
}

// Class says what a failure means for the receiver.
type Class int

const (
	// Unreachable: no connection, or it broke, or no answer in time.
	Unreachable Class = iota
	// Unwilling: the receiver answered, with an error.
	Unwilling
	// Hard: the receiver is gone for good; retries don't matter.
	Hard
)

// Failure is a failed try to deliver.
type Failure struct {
	Class Class
	Err   error
}
