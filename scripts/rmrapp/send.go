package rmrapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"floe/routing"
	"floe/transport/rmr/proto"
)

// State is what the library says of a send.
type State int

// The states that a send ends in.
const (
	OK         State = 0  // the system has all of it
	NoEndpoint State = 2  // no entry, nobody in it, or its endpoint can't be reached
	SendFailed State = 5  // the connection broke, or took no answer at once
	Retry      State = 10 // the connection takes nothing
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case OK:
		return "ok"
	case NoEndpoint:
		return "no endpoint"
	case SendFailed:
		return "send failed"
	case Retry:
		return "retry"
	}
	return fmt.Sprintf("state %d", int(s))
}

// Sent is what became of a message.
type Sent struct {
	State State
	To    []string // the endpoints that a copy went out to, in order
	Err   error    // what was wrong with the last copy that did not, nil if all did
}

var (
	errNoEntry = errors.New("no entry for the type and subscription id")
	errNobody  = errors.New("the entry has no endpoint for the message")
)

// Send sends an ordinary message by the App's own table: a copy to one member
// of each group. Source, call flag and call id are set as the library does. It blocks while a
// connection is opened, and, once a first byte is out, until all of them are.
func (a *App) Send(ctx context.Context, m proto.Message) Sent {
	m.ClearCall()
	r := a.now()
	ctx, cancel := r.within(ctx)
	defer cancel()
	return r.send(ctx, &m)
}

func (r *incarnation) send(ctx context.Context, m *proto.Message) Sent {
	e, groups := r.groups(m.Type, m.SubID, string(m.MEID))
	switch {
	case e == nil:
		return Sent{State: NoEndpoint, Err: errNoEntry}
	case len(groups) == 0:
		return Sent{State: NoEndpoint, Err: errNobody}
	}
	out := Sent{}
	for i, members := range groups {
		to := members[r.turn(e, i, len(members))]
		state, err := r.copyTo(ctx, to, m, patience)
		if err != nil {
			out.Err = fmt.Errorf("%s: %w", to, err)
		} else {
			out.To = append(out.To, to)
		}
		out.State = state
	}
	if len(out.To) > 0 {
		out.State = OK
	}
	return out
}

func (r *incarnation) copyTo(ctx context.Context, to string, m *proto.Message, wait time.Duration) (State, error) {
	c, err := r.data.named(ctx, to)
	if err != nil {
		return NoEndpoint, err
	}
	switch err := c.send(ctx, m, wait); {
	case err == nil:
		return OK, nil
	case errors.Is(err, errBlocked):
		return Retry, err
	default:
		return SendFailed, err
	}
}

// turn returns whose turn it is in a group. The library counts with 16 bits,
// and not at all in a group of one.
func (r *incarnation) turn(e *routing.Entry, group, members int) int {
	if members < 2 {
		return 0
	}
	r.sending.Lock()
	defer r.sending.Unlock()
	turns := r.turns[e]
	if turns == nil {
		turns = make([]uint16, len(e.Groups))
		r.turns[e] = turns
	}
	turns[group]++
	return int(turns[group]-1) % members
}

// forgetTurns forgets the turns of entries that went with an older table.
func (r *incarnation) forgetTurns() {
	r.sending.Lock()
	defer r.sending.Unlock()
	for e := range r.turns {
		if r.reader.Lookup(e.Key.MType, e.Key.SubID) != e {
			delete(r.turns, e)
		}
	}
}

// SendTo sends an ordinary message to an endpoint without regard to the
// table, as a wormhole of the library does.
func (a *App) SendTo(ctx context.Context, to string, m proto.Message) error {
	m.ClearCall()
	r := a.now()
	ctx, cancel := r.within(ctx)
	defer cancel()
	_, err := r.copyTo(ctx, to, &m, 0)
	return err
}
