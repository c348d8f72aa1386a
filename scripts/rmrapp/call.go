package rmrapp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"floe/transport/rmr/proto"
)

// CallTimeout is how long a call waits for its answer unless its context says so.
const CallTimeout = time.Second

// calls are the calls that wait for an answer.
type calls struct {
	mu      sync.Mutex
	made    uint64
	waiting map[[32]byte]call
}

type call struct {
	id     byte
	answer chan *Received
}

// firstCallID is the first of the call ids; 1 is left to the plain call of the library.
const firstCallID = 2

// begin gives a message a call id, and a transaction id if it has none.
func (k *calls) begin(m *proto.Message, name string) call {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made++
	if m.XID == ([32]byte{}) {
		copy(m.XID[:], fmt.Sprintf("%d/%s", k.made, name))
	}
	c := call{byte(firstCallID + k.made%(256-firstCallID)), make(chan *Received, 1)}
	request := proto.NewCall(c.id)
	m.Flags, m.Data1 = m.Flags|request.Flags, request.Data1
	if k.waiting == nil {
		k.waiting = map[[32]byte]call{}
	}
	k.waiting[m.XID] = c
	return c
}

func (k *calls) end(xid [32]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.waiting, xid)
}

// answered returns the call that a message answers; all of the transaction id
// and the call id have to be its.
func (k *calls) answered(m *proto.Message) (call, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.waiting[m.XID]
	if !ok || c.id != m.CallID() {
		return call{}, false
	}
	delete(k.waiting, m.XID)
	return c, true
}

// CallError says that a call got no answer.
type CallError struct {
	Sent Sent  // what became of the request
	Err  error // that of the context, or of sending
}

// Error says why.
func (e *CallError) Error() string {
	if e.Sent.State != OK {
		return fmt.Sprintf("call not sent: %v: %v", e.Sent.State, e.Err)
	}
	return fmt.Sprintf("no answer to a call of %v: %v", e.Sent.To, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Call sends a message as [App.Send] does and waits for its answer, until
// ctx ends; without a deadline for [CallTimeout]. A transaction id that is not zero
// is kept. The error is a *[CallError].
func (a *App) Call(ctx context.Context, m proto.Message) (*Received, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, CallTimeout)
		defer cancel()
	}
	r := a.now()
	ctx, cancel := r.within(ctx)
	defer cancel()
	c := a.calls.begin(&m, string(r.data.src))
	defer a.calls.end(m.XID)
	sent := r.send(ctx, &m)
	if sent.State != OK {
		return nil, &CallError{sent, sent.Err}
	}
	select {
	case answer := <-c.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, &CallError{sent, ctx.Err()}
	}
}

// Reply returns an answer to who sent r: to the endpoint that its source
// names, else on the connection it came on.
func (a *App) Reply(ctx context.Context, r *Received, mtype int32, payload []byte) error {
	now := a.now()
	ctx, cancel := now.within(ctx)
	defer cancel()
	return now.data.reply(ctx, r.conn, string(r.Src), r.Message.Reply(mtype, payload, nil, nil))
}
