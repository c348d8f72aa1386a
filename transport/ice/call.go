package ice

import (
	"context"
	"errors"

	"floe/transport/ice/proto"
)

var errNoCaller = errors.New("this node calls no other Ice servers")

// call calls an object of another Ice server and returns the encapsulation of
// its result. What the other side answers beyond success comes as the errors
// of proto.Reply.Err; any other error means that it was not reached.
func (f *Face) call(ctx context.Context, target *proto.Proxy, operation string, mode byte, params []byte) ([]byte, error) {
	if f.config.Caller == nil {
		return nil, errNoCaller
	}
	reply, err := f.config.Caller.Call(ctx, target, operation, mode, nil, params)
	if err != nil {
		return nil, err
	}
	return reply.Encaps, reply.Err()
}

// proxyIn decodes a result that is a proxy.
func proxyIn(result []byte) (proto.Proxy, error) {
	d, err := proto.OpenEncapsulation(result)
	if err != nil {
		return proto.Proxy{}, err
	}
	p := d.Proxy()
	return p, d.Finish()
}

// encapsulate returns an encapsulation of what appendTo appends.
func encapsulate(appendTo func([]byte) []byte) []byte {
	dst, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	return proto.EndEncapsulation(appendTo(dst), start)
}
