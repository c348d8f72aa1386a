package client

import (
	"container/list"
	"strconv"
	"sync"

	"floe/transport/ice/proto"
)

// Keys of the context of a forward between floe clusters: who sends, and its
// number. A forward that is repeated has both as before.
const (
	KeyOrigin   = "floe.origin"
	KeySequence = "floe.seq"
)

func repeatContext(origin string, seq uint64) proto.Context {
	return proto.NewContext(map[string]string{KeyOrigin: origin, KeySequence: strconv.FormatUint(seq, 10)})
}

// dedupeWindow is how many sequences below the highest one are told apart.
const dedupeWindow = 64

// Dedupe knows which forwards came already. It remembers the last 64
// sequences of each of a bounded number of origins; the origin that was
// silent for longest is forgotten first. It is safe for concurrent use.
type Dedupe struct {
	mu      sync.Mutex
	max     int
	origins map[string]*list.Element
	recent  *list.List // of *window, the latest in front
}

type window struct {
	origin  string
	highest uint64
	seen    uint64 // bit n: highest-n was seen
}

// NewDedupe returns a Dedupe for at most that many origins; 0 is 4096.
func NewDedupe(origins int) *Dedupe {
	if origins <= 0 {
		origins = 4096
	}
	return &Dedupe{max: origins, origins: make(map[string]*list.Element), recent: list.New()}
}

// Repeated reports whether a forward with that request context came before,
// and remembers it. One without origin and sequence is never a repeat.
func (d *Dedupe) Repeated(context proto.Context) bool {
	origin, found := context.Lookup(KeyOrigin)
	if !found || len(origin) == 0 || len(origin) > maxOrigin {
		return false
	}
	text, _ := context.Lookup(KeySequence)
	seq, err := strconv.ParseUint(string(text), 10, 64)
	return err == nil && d.Seen(string(origin), seq)
}

// maxOrigin is the longest origin remembered, in bytes.
const maxOrigin = 512

// Seen reports whether a sequence of an origin was seen before, and
// remembers it. What lies below the window counts as seen.
func (d *Dedupe) Seen(origin string, seq uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, known := d.origins[origin]
	if !known {
		d.add(&window{origin: origin, highest: seq, seen: 1})
		return false
	}
	d.recent.MoveToFront(e)
	return e.Value.(*window).note(seq)
}

func (d *Dedupe) add(w *window) {
	d.origins[w.origin] = d.recent.PushFront(w)
	if d.recent.Len() > d.max {
		oldest := d.recent.Remove(d.recent.Back()).(*window)
		delete(d.origins, oldest.origin)
	}
}

func (w *window) note(seq uint64) (seen bool) {
	if seq > w.highest {
		w.seen = w.seen<<min(seq-w.highest, dedupeWindow) | 1
		w.highest = seq
		return false
	}
	back := w.highest - seq
	if back >= dedupeWindow {
		return true
	}
	bit := uint64(1) << back
	seen = w.seen&bit != 0
	w.seen |= bit
	return seen
}
