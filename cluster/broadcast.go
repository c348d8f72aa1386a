package cluster

import "sync/atomic"

// broadcast wakes all who wait for a change. Take the channel, look, then wait.
type broadcast struct{ ch atomic.Pointer[chan struct{}] }

func newBroadcast() *broadcast {
	b := &broadcast{}
	ch := make(chan struct{})
	b.ch.Store(&ch)
	return b
}

// next is closed at the next fire.
func (b *broadcast) next() <-chan struct{} { return *b.ch.Load() }

func (b *broadcast) fire() {
	ch := make(chan struct{})
	close(*b.ch.Swap(&ch))
}
