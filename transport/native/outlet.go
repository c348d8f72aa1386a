package native

import (
	"context"
	"fmt"
	"sync"

	"floe/topics"
	"floe/transport/delivery"
)

// maxTopics is the most topics another node may ask for.
const maxTopics = topics.MaxTopics

// outlet is the sending end of a stream that another node opened.
type outlet struct {
	node  string
	queue *queue
	ids   []topics.ID // guarded by Native.mu
	acks  chan uint64 // sequence numbers to be acknowledged; the latest counts
}

// Serve serves a stream that another node opened: it takes that node's
// interests and sends the events. It returns when the stream ends.
func (n *Native) Serve(ctx context.Context, node string, s Stream) error {
	o := &outlet{node: node, acks: make(chan uint64, 1)}
	o.queue = newQueue(n.config.QueueEvents, n.config.QueueBytes, &n.counts.between)
	ctx, cancel := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() {
		o.write(ctx, s)
		s.Abort() // wakes the reader
	})
	err := n.takeInterests(o, s)
	n.dropOutlet(o)
	cancel()
	writer.Wait()
	o.queue.close()
	return err
}

// takeInterests reads what the other node wants, until the stream ends.
func (n *Native) takeInterests(o *outlet, s Stream) error {
	for {
		b, err := s.ReadFrame()
		if err != nil {
			return err
		}
		f, err := parseFrame(b)
		if err == nil && f.kind != frameInterest || len(f.ids) > maxTopics {
			err = fmt.Errorf("%w: type %q with %d topics from a subscriber's node", errFrame, f.kind, len(f.ids))
		}
		if err != nil {
			return err
		}
		n.mu.Lock()
		o.ids = f.ids
		n.outlets[o] = struct{}{}
		n.compile()
		n.mu.Unlock()
		o.acknowledge(f.number)
	}
}

// acknowledge has the writer answer; an older answer that was not sent yet
// is replaced.
func (o *outlet) acknowledge(seq uint64) {
	select {
	case <-o.acks:
	default:
	}
	o.acks <- seq
	o.queue.signal()
}

func (n *Native) dropOutlet(o *outlet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.outlets, o)
	n.compile()
}

// burst is how many events are written before a look at the queue.
const burst = 256

// write sends events and acknowledgements until ctx or the stream ends.
func (o *outlet) write(ctx context.Context, s Stream) {
	var last *delivery.Event
	for {
		select {
		case seq := <-o.acks:
			if s.WriteFrame(frameHead(frameAck, seq)) != nil || s.Flush() != nil {
				return
			}
		default:
		}
		b := o.queue.take(burst)
		if b.empty() {
			select {
			case <-o.queue.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		var err error
		if last, err = writeBatch(s, b, last); err != nil {
			o.queue.everMissed.add(uint64(len(b.items))) // how much arrived is not known
			return
		}
	}
}

// writeBatch sends what was taken. An event that comes again for another
// topic is not sent again: the pointer tells, as last keeps it alive.
func writeBatch(s Stream, b batch, last *delivery.Event) (*delivery.Event, error) {
	if b.missed > 0 {
		if err := s.WriteFrame(frameHead(frameMissed, b.missed)); err != nil {
			return nil, err
		}
	}
	for _, i := range b.items {
		var err error
		if i.event == last {
			err = s.WriteFrame(frameHead(frameRepeat, uint64(i.topic)))
		} else {
			err = s.WriteFrame(frameHead(frameEvent, uint64(i.topic)), i.event.Tail)
		}
		if err != nil {
			return nil, err
		}
		last = i.event
	}
	return last, s.Flush()
}
