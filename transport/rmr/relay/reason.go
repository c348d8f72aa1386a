package relay

// Reason says why a message, or one of its copies, was dropped.
type Reason int

// The reasons, in the order of [Counts.Dropped].
const (
	// NoEntry: the table has no entry for it; on a listener for topics, none that
	// names a topic.
	NoEntry Reason = iota
	// UnknownMEID: its MEID has no owner.
	UnknownMEID
	// DeadEndpoint: its endpoint can't be reached, or nobody is left to get it
	// but its own sender.
	DeadEndpoint
	// QueueFull: the queue of its endpoint was at its bound.
	QueueFull
	// NoSender: it came on a connection that we opened, and answers nothing
	// we remember, or its asker has gone.
	NoSender
	// NotAllowed: Config.Access does not let its type come from its sender's
	// address.
	NotAllowed
	// Stopped: this node stopped with the message still in a queue.
	Stopped

	reasons
)

var reasonNames = [reasons]string{"no_entry", "unknown_meid", "dead_endpoint", "queue_full", "no_sender", "not_allowed", "stopped"}

// String returns the reason as metrics name it.
func (r Reason) String() string { return reasonNames[r] }

// Reasons returns all reasons.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Counts are messages, each copy of which counts by itself. At every moment
// Offered = Delivered + the sum of Dropped + Queued.
type Counts struct {
	Offered uint64
	// Delivered were wholly handed to the system for sending, or published.
	Delivered uint64
	Dropped   [reasons]uint64
	// Queued wait or are being written.
	Queued uint64
}

// Lost returns the sum of Dropped.
func (c Counts) Lost() uint64 {
	sum := uint64(0)
	for _, n := range c.Dropped {
		sum += n
	}
	return sum
}

func (c *Counts) add(o Counts) {
	c.Offered += o.Offered
	c.Delivered += o.Delivered
	c.Queued += o.Queued
	for i, n := range o.Dropped {
		c.Dropped[i] += n
	}
}
