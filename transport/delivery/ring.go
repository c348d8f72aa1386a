package delivery

// ring is a double-ended queue of events. The zero value is empty. It grows
// by doubling and lets its memory go once it is empty after a large backlog.
type ring struct {
	slots []slot // length is a power of two
	head  int
	n     int
}

// slot is one queued event and when it came, in nanoseconds of the queue's clock.
type slot struct {
	ev *Event
	at int64
}

const (
	ringStart = 16
	ringKeep  = 1024 // slots kept by an empty ring
)

func (r *ring) len() int { return r.n }

func (r *ring) front() slot { return r.slots[r.head] }

func (r *ring) pushBack(s slot) {
	r.grow()
	r.slots[(r.head+r.n)&(len(r.slots)-1)] = s
	r.n++
}

func (r *ring) pushFront(s slot) {
	r.grow()
	r.head = (r.head - 1) & (len(r.slots) - 1)
	r.slots[r.head] = s
	r.n++
}

func (r *ring) popFront() slot {
	s := r.slots[r.head]
	r.slots[r.head] = slot{}
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.n--
	if r.n == 0 && len(r.slots) > ringKeep {
		*r = ring{}
	}
	return s
}

func (r *ring) grow() {
	if r.n < len(r.slots) {
		return
	}
	slots := make([]slot, max(ringStart, 2*len(r.slots)))
	for i := range r.n {
		slots[i] = r.slots[(r.head+i)&(len(r.slots)-1)]
	}
	r.slots, r.head = slots, 0
}
