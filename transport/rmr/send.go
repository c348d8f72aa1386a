package rmr

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"floe/transport/rmr/proto"
)

// callID is the one of all calls of an App; transaction ids tell them apart.
// 1 is left to the library's plain call.
const callID = 2

// Send sends an ordinary message to an endpoint, HOST:PORT: its source is
// set, call flag and call id go. It returns when the system has all of it, which is
// no promise that the endpoint gets it. A connection that turns out to be
// broken is opened anew, once. Errors: *[Unreachable], *proto.SizeError,
// *proto.TextError, [ErrClosed].
func (a *App) Send(ctx context.Context, to string, m proto.Message) error {
	m.ClearCall()
	return a.send(ctx, to, m)
}

func (a *App) send(ctx context.Context, to string, m proto.Message) error {
	for again := true; ; again = false {
		c, old, err := a.connTo(ctx, to)
		if err != nil {
			return err
		}
		err = a.write(ctx, c, m)
		var broken *Unreachable
		if !errors.As(err, &broken) || !old || !again || ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return err // a peer that reads nothing will not read from another connection
		}
	}
}

// Call sends a message and waits for its answer, on whichever connection it
// comes, until ctx ends; without a deadline for [CallTimeout]. It replaces the
// transaction id and data 1 of m. Errors are those of [App.Send] and
// *[NoAnswer].
func (a *App) Call(ctx context.Context, to string, m proto.Message) (*Received, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, CallTimeout)
		defer cancel()
	}
	call := proto.NewCall(callID)
	m.Flags |= call.Flags
	m.Data1 = call.Data1
	m.XID = newXID()
	answer := a.expect(m.XID)
	defer a.expectNoMore(m.XID)
	if err := a.send(ctx, to, m); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r, nil
	case <-a.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, &NoAnswer{to, ctx.Err()}
	}
}

// newXID is text that ends before the field does: some programs print it.
func newXID() (xid [32]byte) {
	var random [15]byte
	_, _ = rand.Read(random[:]) // never fails
	hex.Encode(xid[:], random[:])
	return xid
}

func (a *App) expect(xid [32]byte) <-chan *Received {
	answer := make(chan *Received, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[xid] = answer
	return answer
}

func (a *App) expectNoMore(xid [32]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.calls, xid)
}

// Reply returns an answer to who sent r, as the library does: to the endpoint
// that r's source names; if it names none, or that fails, on the connection that r came
// on; and if that is closed, to r's source address.
func (a *App) Reply(ctx context.Context, r *Received, mtype int32, payload []byte) error {
	m := r.Message.Reply(mtype, payload, nil, nil)
	src, srcIP := string(r.Src), string(r.SrcIP)
	var failed []error
	for _, try := range []func() error{
		func() error { return a.sendIfNamed(ctx, src, m) },
		func() error { return a.write(ctx, r.conn, m) },
		func() error { return a.sendIfNamed(ctx, srcIP, m) },
	} {
		err := try()
		var out *Unreachable
		if !errors.As(err, &out) {
			return err // it worked, or will never
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("answer lost: %w", errors.Join(failed...))
}

var errUnnamed = errors.New("the message names none")

func (a *App) sendIfNamed(ctx context.Context, endpoint string, m proto.Message) error {
	if endpoint == "" {
		return &Unreachable{"of the sender", errUnnamed}
	}
	return a.send(ctx, endpoint, m)
}
