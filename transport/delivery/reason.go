package delivery

// Reason says why an event was dropped.
type Reason int

// The reasons, in the order of [Counts.Dropped].
const (
	// QueueFull: the queue was at its bound.
	QueueFull Reason = iota
	// Removed: the receiver went, with the event still in its queue.
	Removed
	// Doubtful: the connection broke after the event was written and before
	// it was answered. It may have been executed and is not sent again.
	Doubtful
	// Refused: the receiver answered that it could not execute it.
	Refused
	// TooLarge: no message the receiver takes can hold it.
	TooLarge
	// BadMEID: the event was to leave as a message, and no message can hold
	// the MEID of its context.
	BadMEID
	// Stopped: this node stopped with the event still in a queue.
	Stopped

	reasons
)

var reasonNames = [reasons]string{"queue_full", "removed", "doubtful", "refused", "too_large", "bad_meid", "stopped"}

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
