package relay

import (
	"cmp"
	"slices"
)

// Stats are the figures of a Relay since it was made.
type Stats struct {
	// Version is the table version that messages are routed by.
	Version uint64
	// Total are all messages, with those of endpoints and connections that
	// are gone, those published and those that could not be routed.
	Total Counts
	// Endpoints are those there are, sorted by name.
	Endpoints []EndpointStats
	// Routes are those that messages went by, sorted by type and subscription id.
	Routes []RouteStats
	// Listeners are in the order in which they were served.
	Listeners []ListenerStats
	// Published counts the copies that went to topics.
	Published uint64
	// Answers are what went back to senders on the connections they opened,
	// as far as those are open still.
	Answers Counts
	// BadAnswers counts connections to endpoints that were closed for what
	// came on them.
	BadAnswers uint64
	// HealthChecks counts those that were answered, as no route was for them;
	// Tables the messages with table data, that no route was for either.
	HealthChecks, Tables uint64
	// Alarms are those of applications that drop messages, sorted by source.
	Alarms []Alarm
}

// EndpointStats are the figures of one endpoint.
type EndpointStats struct {
	Name string
	Counts
	// QueuedBytes is what is queued, in bytes.
	QueuedBytes int64
	// Connected: there is a connection. Dead: groups pass it over.
	Connected, Dead bool
	// LastError is why it was last disconnected or not reached, in words.
	LastError string
}

// ListenerStats are the figures of one listener.
type ListenerStats struct {
	// Address is where it listens; Topics tells that it is for topics only.
	Address string
	Topics  bool
	// Connections are open now.
	Connections int
	// Received counts messages.
	Received uint64
	// Refused counts connections beyond a limit, BadInput those closed for
	// bytes that are no frame, or for a frame that did not end in time.
	Refused, BadInput uint64
}

// Stats returns the figures. Total and those of each endpoint are consistent
// in themselves.
func (r *Relay) Stats() Stats {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := Stats{
		Version: r.current.Load().version, Total: r.past, Published: r.published.Load(),
		BadAnswers: r.badAnswers.Load(), HealthChecks: r.healthChecks.Load(), Tables: r.tables.Load(), Alarms: r.alarms.list(), Routes: r.routes.list(),
	}
	for _, e := range r.endpoints {
		one := e.stats()
		s.Total.add(one.Counts)
		s.Endpoints = append(s.Endpoints, one)
	}
	slices.SortFunc(s.Endpoints, func(a, b EndpointStats) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range r.inlets {
		counts, _ := c.look()
		s.Answers.add(counts)
	}
	s.Total.add(s.Answers)
	s.Total.add(Counts{Offered: s.Published, Delivered: s.Published})
	for i := range r.dropped {
		n := r.dropped[i].Load()
		s.Total.Offered += n
		s.Total.Dropped[i] += n
	}
	for _, ln := range r.listeners {
		s.Listeners = append(s.Listeners, ln.stats())
	}
	return s
}

func (e *endpoint) stats() EndpointStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := EndpointStats{Name: e.name, Counts: e.counts, QueuedBytes: e.bytes, Connected: e.link != nil, Dead: e.dead.Load() || e.full.Load()}
	if e.lastErr != nil {
		s.LastError = e.lastErr.Error()
	}
	return s
}

func (ln *listener) stats() ListenerStats {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ListenerStats{
		Address: ln.socket.Addr().String(), Topics: ln.mode == topicsOnly,
		Connections: ln.open, Received: ln.received.Load(), Refused: ln.refused, BadInput: ln.bad,
	}
}
