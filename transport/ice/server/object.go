package server

import (
	"context"
	"fmt"
	"slices"

	"floe/transport/ice/proto"
)

// Interface describes objects of one Slice interface, served by an S.
type Interface[S any] struct {
	// IDs are the type ids of the interface and its bases, sorted.
	IDs []string
	// ID is the most derived of them.
	ID string
	// Operations are the operations beyond those of every object, by name.
	Operations map[string]Operation[S]
}

// Operation is one operation of an interface.
type Operation[S any] struct {
	// Mode is ModeNormal or ModeIdempotent. A request has to come with it;
	// for an idempotent operation nonmutating, sent by older clients, does too.
	Mode byte
	// Inline says that Do never waits.
	Inline bool
	// Do reads the parameters from c.In, acts, and appends the results to
	// c.Out. Its error is answered as [AppendError] says. The servant comes
	// first so that a method expression of S fits.
	Do func(s S, ctx context.Context, c *Call) error
}

// Call is one request to a typed operation.
type Call struct {
	*Request
	// In is at the first parameter. The operation calls In.Finish after the
	// last one, before it acts.
	In proto.Decoder
	// Out gets the results, in In's encoding: out parameters first.
	Out []byte
}

// Bind returns the servant of one object. With an S of pointer size it does
// not keep more than that.
func (i *Interface[S]) Bind(s S) Servant { return object[S]{i, s} }

type object[S any] struct {
	of      *Interface[S]
	servant S
}

// Inline tells whether the operation asked for never waits.
func (o object[S]) Inline(r *Request) bool {
	op, known := o.of.Operations[string(r.Operation)]
	return op.Inline || !known
}

// Dispatch checks facet, operation, mode and encoding, then runs the operation.
func (o object[S]) Dispatch(ctx context.Context, r *Request, dst []byte) []byte {
	if r.Facet != "" {
		return proto.AppendNotExist(dst, proto.StatusFacetNotExist, &r.Request)
	}
	do := o.find(r)
	if do == nil {
		return proto.AppendNotExist(dst, proto.StatusOperationNotExist, &r.Request)
	}
	reply, err := o.run(ctx, do, r, dst)
	if err != nil {
		return AppendError(dst, r, err)
	}
	return reply
}

func (o object[S]) run(ctx context.Context, do func(S, context.Context, *Call) error, r *Request, dst []byte) ([]byte, error) {
	if err := o.checkMode(r); err != nil {
		return nil, err
	}
	in, err := proto.OpenEncapsulation(r.Encaps)
	if err != nil {
		return nil, err
	}
	dst, result := proto.BeginResult(dst, r.ID, in.Encoding())
	call := Call{Request: r, In: in, Out: dst}
	if err := do(o.servant, ctx, &call); err != nil {
		return nil, err
	}
	return proto.EndResult(call.Out, result), nil
}

// checkMode refuses a request whose mode does not fit; the operations of
// every object take any.
func (o object[S]) checkMode(r *Request) error {
	op, typed := o.of.Operations[string(r.Operation)]
	if !typed || r.Mode == op.Mode || op.Mode == proto.ModeIdempotent && r.Mode == proto.ModeNonmutating {
		return nil
	}
	return &proto.UnknownError{
		Status: proto.StatusUnknownLocalException,
		Text:   fmt.Sprintf("unexpected operation mode. expected = %d received = %d", op.Mode, r.Mode),
	}
}

// find returns what runs the operation of r, nil if the object has none of that name.
func (o object[S]) find(r *Request) func(S, context.Context, *Call) error {
	switch string(r.Operation) {
	case "ice_ping":
		return func(_ S, _ context.Context, c *Call) error { return c.In.Finish() }
	case "ice_isA":
		return o.isA
	case "ice_id":
		return o.id
	case "ice_ids":
		return o.ids
	}
	return o.of.Operations[string(r.Operation)].Do
}

func (o object[S]) isA(_ S, _ context.Context, c *Call) error {
	id := c.In.String()
	if err := c.In.Finish(); err != nil {
		return err
	}
	c.Out = proto.AppendBool(c.Out, slices.Contains(o.of.IDs, id))
	return nil
}

func (o object[S]) id(_ S, _ context.Context, c *Call) error {
	c.Out = proto.AppendString(c.Out, o.of.ID)
	return c.In.Finish()
}

func (o object[S]) ids(_ S, _ context.Context, c *Call) error {
	c.Out = proto.AppendStrings(c.Out, o.of.IDs)
	return c.In.Finish()
}
