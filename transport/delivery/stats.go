package delivery

import (
	"cmp"
	"slices"
	"time"

	"floe/topics"
)

// Stats are the figures of a hub at one moment.
type Stats struct {
	// Topics are those an event came to since this node started, by name.
	Topics []TopicStats
	// Total sums up all receivers, those included that are gone.
	Total Counts
}

// TopicStats are the figures of one topic on this node.
type TopicStats struct {
	ID   topics.ID
	Name string
	// Published counts the events published on it here.
	Published uint64
	// Arrived counts the events that came to it over links from outside, or
	// as messages.
	Arrived uint64
	// Receivers are its subscribers, and its links that leave the graph, in
	// the order they were made.
	Receivers []ReceiverStats
	// Passed counts, by link serial, the events its links let pass.
	Passed map[uint64]uint64
}

// ReceiverStats are the figures of one subscriber or link on this node.
type ReceiverStats struct {
	Identity topics.Identity
	Serial   uint64
	Link     bool
	Counts
	// QueuedBytes is what the waiting events count for in bytes.
	QueuedBytes int
	// Oldest is for how long the oldest waiting event has been waiting.
	Oldest time.Duration
	// State is "idle", "active", "retrying" or "removing".
	State string
	// Address is where it was last reached or tried, empty before that.
	Address string
	// LastError is the last failure in words, empty where there was none.
	LastError string
	// LastFailure is when that was.
	LastFailure time.Time
}

// Stats returns the figures. Each receiver's are consistent in themselves.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Total: h.gone}
	now := h.nanos()
	h.topics.Range(func(_, t any) bool {
		s.add(t.(*Topic).stats(now))
		return true
	})
	slices.SortFunc(s.Topics, func(a, b TopicStats) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (s *Stats) add(t TopicStats) {
	s.Topics = append(s.Topics, t)
	for i := range t.Receivers {
		s.Total.add(t.Receivers[i].Counts)
	}
}

func (t *Topic) stats(now int64) TopicStats {
	s := TopicStats{ID: t.id, Name: t.name, Published: t.published.Load(), Arrived: t.arrived.Load()}
	for _, r := range t.receivers {
		s.Receivers = append(s.Receivers, r.stats(now))
	}
	slices.SortFunc(s.Receivers, func(a, b ReceiverStats) int { return cmp.Compare(a.Serial, b.Serial) })
	if len(t.passed) > 0 {
		s.Passed = make(map[uint64]uint64, len(t.passed))
	}
	for serial, n := range t.passed {
		s.Passed[serial] = n.Load()
	}
	return s
}

func (r *Receiver) stats(now int64) ReceiverStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := ReceiverStats{
		Identity: r.id, Serial: r.serial, Link: r.link, Counts: r.queue.Counts(), QueuedBytes: r.queue.Bytes(),
		State: r.stateName(), Address: r.address, LastFailure: r.lastFail,
	}
	if at, found := r.queue.Oldest(); found {
		s.Oldest = time.Duration(now - at)
	}
	if r.lastErr != nil {
		s.LastError = r.lastErr.Error()
	}
	return s
}

func (r *Receiver) stateName() string {
	switch {
	case r.state == waiting || !r.outage.Over() && r.state == active:
		return "retrying"
	case r.state == condemned:
		return "removing"
	case r.queue.counts.Queued > 0:
		return "active"
	}
	return "idle"
}

// setLimits changes the queue's bounds; what no longer fits is dropped.
func (r *Receiver) setLimits(l Limits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue.limits = l
	r.queue.trim()
}
