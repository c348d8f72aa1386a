package cluster

import (
	"context"
	"reflect"

	"github.com/hashicorp/raft"
)

// await asks Raft for something and waits for its answer, but no longer than
// ctx or the half lives. An error that notHanded knows says that Raft never
// had the request.
func (h *half) await(ctx context.Context, request func() raft.Future) (raft.Future, error) {
	var future raft.Future
	done := make(chan error, 1)
	started := h.spawn(func() {
		future = request()
		h.bind(future)
		done <- future.Error()
	})
	if !started {
		return nil, raft.ErrNotLeader
	}
	select {
	case err := <-done:
		return future, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bind has a future answer once Raft is gone. Raft v1.8.0 never answers some
// of those that it had taken when it stopped (a verification or a transfer
// in its channel, an entry on its way to the state), and leaves the field
// that would help unset; its type is not exported.
func (h *half) bind(future raft.Future) {
	v := reflect.Indirect(reflect.ValueOf(future))
	if v.Kind() != reflect.Struct {
		return
	}
	if ch := v.FieldByName("ShutdownCh"); ch.IsValid() && ch.CanSet() && ch.IsNil() {
		ch.Set(reflect.ValueOf(h.gone))
	}
}
