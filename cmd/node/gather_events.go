package main

import (
	"floe/fsm"
	"floe/transport/delivery"
	"floe/transport/http"
	"floe/transport/native"
)

// mostTopics and mostLinks bound the topics and links that have figures of
// their own; those beyond are summed up under empty names.
const (
	mostTopics = 1000
	mostLinks  = 1000
)

var (
	eventsOffered   = counter("floe_events_offered_total", "Events offered to receivers, counted per event and receiver.", "face")
	eventsDelivered = counter("floe_events_delivered_total", "Events delivered to receivers.", "face")
	eventsDropped   = counter("floe_events_dropped_total", "Events dropped, by reason.", "face", "reason")
	eventsQueued    = gauge("floe_events_queued", "Events that wait for a receiver or are under way.", "face")

	topicPublished = counter("floe_topic_published_total", "Events published on a topic of this node.", "topic")
	topicArrived   = counter("floe_topic_arrived_total", "Events that came to a topic over links from outside.", "topic")
	topicFailing   = gauge("floe_topic_receivers_failing", "Receivers of a topic that can't be reached now.", "topic")

	linkForwarded = counter("floe_link_forwarded_total", "Events that a link let pass.", "topic", "target")

	nativeTopics      = gauge("floe_native_topics", "Topics that native subscribers of this node want.")
	nativeSubscribers = gauge("floe_native_subscribers", "Native subscribers of this node.")
	nativeBetween     = counter("floe_native_dropped_between_nodes_total", "Events for native subscribers of other nodes that were dropped on the way to their node, counted per event and node.")
)

// events adds the sums over all receivers, those that are gone included. At
// each scrape offered = delivered + dropped + queued.
func (s samples) events(stats delivery.Stats) {
	total := stats.Total
	s.put(eventsOffered, float64(total.Offered), "ice")
	s.put(eventsDelivered, float64(total.Delivered), "ice")
	s.put(eventsQueued, float64(total.Queued), "ice")
	for _, reason := range delivery.Reasons() {
		s.put(eventsDropped, float64(total.Dropped[reason]), "ice", reason.String())
	}
}

// native adds those of native subscribers. Their counters are read one after
// the other, so what is queued is what the others leave.
func (s samples) native(stats native.Stats) {
	past := stats.Delivered + stats.Dropped
	offered := max(stats.Offered, past)
	s.put(eventsOffered, float64(offered), "native")
	s.put(eventsDelivered, float64(stats.Delivered), "native")
	s.put(eventsDropped, float64(stats.Dropped), "native", delivery.QueueFull.String())
	s.put(eventsQueued, float64(offered-past), "native")
	s.put(nativeTopics, float64(stats.Topics))
	s.put(nativeSubscribers, float64(stats.Subscribers))
	s.put(nativeBetween, float64(stats.DroppedBetween))
}

// exists tells whether a topic is still in the view: the hub keeps those
// destroyed for a while, and another of the name may be there already.
func exists(v *fsm.View, t *delivery.TopicStats) bool {
	now := v.Graph.ByID(t.ID)
	return now != nil && now.Name == t.Name
}

func (s samples) topics(stats delivery.Stats, v *fsm.View) {
	shown := 0
	var rest delivery.TopicStats
	for i := range stats.Topics {
		t := &stats.Topics[i]
		if !exists(v, t) {
			continue
		}
		if shown++; shown <= mostTopics {
			s.topic(t)
			continue
		}
		rest.Published += t.Published
		rest.Arrived += t.Arrived
		rest.Receivers = append(rest.Receivers, t.Receivers...)
	}
	if shown > mostTopics {
		s.topic(&rest)
	}
}

func (s samples) topic(t *delivery.TopicStats) {
	s.put(topicPublished, float64(t.Published), t.Name)
	s.put(topicArrived, float64(t.Arrived), t.Name)
	failing := 0
	for i := range t.Receivers {
		if failed(&t.Receivers[i]) {
			failing++
		}
	}
	s.put(topicFailing, float64(failing), t.Name)
}

// failed tells whether a receiver can't be reached now.
func failed(r *delivery.ReceiverStats) bool { return r.State == "retrying" || r.State == "removing" }

// links adds what each link let pass, by topic.
func (s samples) links(stats delivery.Stats, v *fsm.View) {
	sums := map[receiverName]uint64{}
	for i := range stats.Topics {
		t := &stats.Topics[i]
		if !exists(v, t) || len(t.Passed) == 0 {
			continue
		}
		for _, l := range v.Graph.ByID(t.ID).Links {
			passed, counted := t.Passed[l.Serial]
			if !counted {
				continue
			}
			name := receiverName{}
			if len(sums) < mostLinks {
				target, _ := http.LinkName(v, l)
				name = receiverName{t.Name, target}
			}
			sums[name] += passed
		}
	}
	for name, passed := range sums {
		s.put(linkForwarded, float64(passed), name.topic, name.receiver)
	}
}
