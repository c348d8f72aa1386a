package main

import (
	"cmp"
	"slices"
	"time"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/http"
	"floe/transport/ice/proto"
)

// mostReceivers bounds the subscribers and links that have figures of their
// own: those with the most events queued or dropped. The others are summed
// up under empty names.
const mostReceivers = 1000

// receiverFamilies are the figures of one kind of receiver.
type receiverFamilies struct {
	offered, delivered, dropped, queued, bytes, oldest, state family
}

var (
	subscriberFamilies = newReceiverFamilies("subscriber", "a subscriber", "subscriber")
	linkFamilies       = newReceiverFamilies("link", "a link that leaves the cluster", "target")
)

func newReceiverFamilies(kind, what, label string) receiverFamilies {
	name := "floe_" + kind
	return receiverFamilies{
		offered:   counter(name+"_offered_total", "Events offered to "+what+".", "topic", label),
		delivered: counter(name+"_delivered_total", "Events delivered to "+what+".", "topic", label),
		dropped:   counter(name+"_dropped_total", "Events of "+what+" that were dropped, for any reason.", "topic", label),
		queued:    gauge(name+"_queued", "Events that wait for "+what+" or are under way.", "topic", label),
		bytes:     gauge(name+"_queued_bytes", "Bytes of the events that wait for "+what+".", "topic", label),
		oldest:    gauge(name+"_oldest_seconds", "For how long the oldest event has been waiting for "+what+".", "topic", label),
		state:     gauge(name+"_state", "1 for the state of "+what+": idle, active, retrying or removing.", "topic", label, "state"),
	}
}

// receiverName is a receiver as labels name it.
type receiverName struct{ topic, receiver string }

// receiver is one receiver with the topic it belongs to.
type receiver struct {
	topic *delivery.TopicStats
	stats *delivery.ReceiverStats
}

// trouble is how many of its events are late or lost.
func (r receiver) trouble() uint64 { return r.stats.Queued + r.stats.Lost() }

// byTrouble sorts the most troubled first, and else by age.
func byTrouble(a, b receiver) int {
	return cmp.Or(cmp.Compare(b.trouble(), a.trouble()), cmp.Compare(a.stats.Serial, b.stats.Serial))
}

// sums are the figures of receivers of one name.
type sums struct {
	offered, delivered, dropped, queued uint64
	bytes                               int
	oldest                              time.Duration
	states                              map[string]int
}

func (a *sums) add(r *delivery.ReceiverStats) {
	a.offered += r.Offered
	a.delivered += r.Delivered
	a.dropped += r.Lost()
	a.queued += r.Queued
	a.bytes += r.QueuedBytes
	a.oldest = max(a.oldest, r.Oldest)
	a.states[r.State]++
}

// receivers adds the figures of subscribers and of links that leave the
// graph. For each of them offered = delivered + dropped + queued.
func (s samples) receivers(stats delivery.Stats, v *fsm.View) {
	all := receiversOf(stats, v)
	slices.SortFunc(all, byTrouble)
	subscribers, links := map[receiverName]*sums{}, map[receiverName]*sums{}
	for i, r := range all {
		by, name := subscribers, receiverName{}
		if r.stats.Link {
			by = links
		}
		if i < mostReceivers {
			name = receiverName{r.topic.Name, r.name(v)}
		}
		if by[name] == nil { // names are not always unique: see put, and a subscriber that came anew
			by[name] = &sums{states: map[string]int{}}
		}
		by[name].add(r.stats)
	}
	s.sums(subscriberFamilies, subscribers)
	s.sums(linkFamilies, links)
}

func receiversOf(stats delivery.Stats, v *fsm.View) []receiver {
	var all []receiver
	for i := range stats.Topics {
		t := &stats.Topics[i]
		if !exists(v, t) {
			continue
		}
		for j := range t.Receivers {
			all = append(all, receiver{t, &t.Receivers[j]})
		}
	}
	return all
}

// name is the subscriber's identity, or the link's target as `floe links`
// names it.
func (r receiver) name(v *fsm.View) string {
	if r.stats.Link {
		links := v.Graph.ByID(r.topic.ID).Links
		i := slices.IndexFunc(links, func(l topics.Link) bool { return l.Serial == r.stats.Serial })
		if i >= 0 {
			target, _ := http.LinkName(v, links[i])
			return target
		}
	}
	return proto.Identity(r.stats.Identity).String()
}

func (s samples) sums(f receiverFamilies, by map[receiverName]*sums) {
	for name, sum := range by {
		s.put(f.offered, float64(sum.offered), name.topic, name.receiver)
		s.put(f.delivered, float64(sum.delivered), name.topic, name.receiver)
		s.put(f.dropped, float64(sum.dropped), name.topic, name.receiver)
		s.put(f.queued, float64(sum.queued), name.topic, name.receiver)
		s.put(f.bytes, float64(sum.bytes), name.topic, name.receiver)
		s.put(f.oldest, sum.oldest.Seconds(), name.topic, name.receiver)
		for state, n := range sum.states {
			s.put(f.state, float64(n), name.topic, name.receiver, state)
		}
	}
}
