package delivery

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sized makes an event that counts for n bytes in a queue.
func sized(n int) *Event { return &Event{Tail: make([]byte, n-eventOverhead)} }

func TestQueueTake(t *testing.T) {
	tests := []struct {
		name       string
		events     []int // bytes of tails
		max, bytes int
		want       int
	}{
		{"all", []int{10, 10, 10}, 100, 100, 3},
		{"by number", []int{10, 10, 10}, 2, 100, 2},
		{"by bytes", []int{10, 10, 10}, 100, 25, 2},
		{"exactly", []int{10, 10, 10}, 100, 20, 2},
		{"the first at any size", []int{1000, 10}, 100, 20, 1},
		{"none", nil, 100, 100, 0},
	}
	for _, test := range tests {
		q := NewQueue(Limits{Events: 100, Bytes: 1 << 20})
		for _, n := range test.events {
			q.Offer(&Event{Tail: make([]byte, n)}, 0)
		}
		if got := len(q.Take(nil, test.max, test.bytes)); got != test.want {
			t.Errorf("%s: took %d, want %d", test.name, got, test.want)
		}
	}
}

func TestQueueBytesBound(t *testing.T) {
	q := NewQueue(Limits{Events: 100, Bytes: 1000})
	for range 50 {
		q.Offer(sized(300), 0)
	}
	if q.Waiting() != 3 || q.Bytes() != 900 || q.Counts().Dropped[QueueFull] != 47 {
		t.Errorf("got %d events of %d bytes waiting, %v dropped", q.Waiting(), q.Bytes(), q.Counts().Dropped)
	}
	q.Offer(sized(2000), 0)
	if q.Waiting() != 0 || q.Counts().Lost() != 51 {
		t.Errorf("an event larger than the bound: got %d waiting, %d lost", q.Waiting(), q.Counts().Lost())
	}
}

// TestQueueModel compares a queue with plain slices under random use.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Events: rapid.IntRange(1, 8).Draw(t, "events"), Bytes: rapid.IntRange(100, 800).Draw(t, "bytes"), Policy: Policy(rapid.IntRange(0, 1).Draw(t, "policy"))}
		m := &queueModel{q: NewQueue(limits), limits: limits}
		t.Repeat(map[string]func(*rapid.T){
			"offer":  m.offer,
			"take":   m.take,
			"done":   func(t *rapid.T) { m.finish(t, func(n int) { m.q.Done(n); m.delivered += n }) },
			"lose":   func(t *rapid.T) { m.finish(t, func(n int) { m.q.Lose(n, Doubtful); m.lost += n }) },
			"return": m.back,
			"clear":  func(*rapid.T) { m.q.Clear(Removed); m.lost += len(m.wait); m.wait = nil },
			"":       m.check,
		})
	})
}

type queueModel struct {
	q                        *Queue
	limits                   Limits
	wait, flight             []*Event
	offered, delivered, lost int
}

func (m *queueModel) size() (n int) {
	for _, ev := range m.wait {
		n += ev.size()
	}
	return n
}

func (m *queueModel) trim() {
	for len(m.wait) > m.limits.Events || m.size() > m.limits.Bytes {
		m.wait = m.wait[1:]
		m.lost++
	}
}

func (m *queueModel) offer(t *rapid.T) {
	ev := sized(rapid.IntRange(eventOverhead, 400).Draw(t, "size"))
	m.offered++
	fits := m.limits.Policy == DropOldest || len(m.wait) < m.limits.Events && m.size()+ev.size() <= m.limits.Bytes
	if got := m.q.Offer(ev, 0); got != fits {
		t.Fatalf("Offer: got %v, want %v", got, fits)
	}
	if !fits {
		m.lost++
		return
	}
	m.wait = append(m.wait, ev)
	m.trim()
}

func (m *queueModel) take(t *rapid.T) {
	n := min(rapid.IntRange(0, 4).Draw(t, "n"), len(m.wait))
	got := m.q.Take(nil, n, 1<<30)
	if !slices.Equal(got, m.wait[:n]) {
		t.Fatal("Take: not the oldest in order")
	}
	m.flight = append(m.flight, m.wait[:n]...)
	m.wait = m.wait[n:]
}

func (m *queueModel) finish(t *rapid.T, f func(int)) {
	n := rapid.IntRange(0, len(m.flight)).Draw(t, "n")
	m.flight = m.flight[n:]
	f(n)
}

func (m *queueModel) back(t *rapid.T) {
	m.q.Return(m.flight, 0)
	m.wait = append(m.flight, m.wait...)
	m.flight = nil
	m.trim()
}

func (m *queueModel) check(t *rapid.T) {
	c := m.q.Counts()
	if int(c.Offered) != m.offered || int(c.Delivered) != m.delivered || int(c.Lost()) != m.lost || int(c.Queued) != len(m.wait)+len(m.flight) {
		t.Fatalf("got %+v, want %+v", c, m)
	}
	if c.Offered != c.Delivered+c.Lost()+c.Queued {
		t.Fatalf("counters don't add up: %+v", c)
	}
	if m.q.Waiting() != len(m.wait) || m.q.Bytes() != m.size() {
		t.Fatalf("got %d waiting of %d bytes, want %d of %d", m.q.Waiting(), m.q.Bytes(), len(m.wait), m.size())
	}
}
