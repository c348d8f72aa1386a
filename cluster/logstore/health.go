package logstore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// slots bounds how many operations in flight are timed at once. Where more
// run, the further ones are not timed: the oldest are, and those count.
const slots = 64

// Health is the state of a node's storage: in service until the first error,
// then out of service for good. It also knows how long the oldest operation
// has been running. Store and Snapshots of one node share it. Safe for
// concurrent use; make it with [NewHealth].
type Health struct {
	onFailure func(*FailedError)
	once      sync.Once
	failed    atomic.Pointer[FailedError]
	done      chan struct{}
	base      time.Time
	started   [slots]atomic.Int64 // nanoseconds since base plus 1, 0 = free
}

// NewHealth returns the Health of storage that works. onFailure, which may be
// nil, is called once, on the goroutine that met the first error: often raft's
// own. It must neither block nor call raft; a watcher of Done does the rest.
func NewHealth(onFailure func(*FailedError)) *Health {
	return &Health{onFailure: onFailure, done: make(chan struct{}), base: time.Now()}
}

// Err returns nil while the storage is in service, then a *FailedError.
func (h *Health) Err() error {
	if f := h.failed.Load(); f != nil {
		return f
	}
	return nil
}

// Done is closed at the first error.
func (h *Health) Done() <-chan struct{} { return h.done }

// Stalled returns for how long the oldest unfinished operation has been
// running, 0 when none is. A watchdog compares it with --disk-stall.
func (h *Health) Stalled() time.Duration {
	var oldest int64
	for i := range h.started {
		if t := h.started[i].Load(); t != 0 && (oldest == 0 || t < oldest) {
			oldest = t
		}
	}
	if oldest == 0 {
		return 0
	}
	return max(time.Since(h.base)-time.Duration(oldest-1), 0)
}

// Fail takes the storage out of service as if op had ended with err. Only the
// first call has an effect; each returns the first error.
func (h *Health) Fail(op string, err error) error {
	h.once.Do(func() {
		f := &FailedError{Op: op, Err: err}
		h.failed.Store(f)
		close(h.done)
		if h.onFailure != nil {
			h.onFailure(f)
		}
	})
	return h.Err()
}

// do runs one operation: refused when out of service, timed, its panics turned into errors, its error final.
func (h *Health) do(op string, fn func() error) error {
	if err := h.Err(); err != nil {
		return err
	}
	slot := h.begin()
	err := protect(fn)
	h.end(slot)
	if err != nil && !benign(err) {
		return h.Fail(op, err)
	}
	if failed := h.Err(); failed != nil {
		return failed // another goroutine failed meanwhile: nothing is acknowledged any more
	}
	return err
}

func (h *Health) begin() int {
	now := int64(time.Since(h.base)) + 1
	for i := range h.started {
		if h.started[i].CompareAndSwap(0, now) {
			return i
		}
	}
	return -1
}

func (h *Health) end(slot int) {
	if slot >= 0 {
		h.started[slot].Store(0)
	}
}

// benign tells the answers that say "there is none" from errors.
func benign(err error) bool {
	return errors.Is(err, raft.ErrLogNotFound) || errors.Is(err, raftboltdb.ErrKeyNotFound)
}

// protect turns a panic of fn into an error. bbolt asserts on damaged pages,
// and reads a file that was cut short through its memory map, which faults.
func protect(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p}
		}
	}()
	return fn()
}

// panicError is a panic of the database below.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("database stopped: %v", e.value) }
