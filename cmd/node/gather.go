package main

import (
	"floe/transport/delivery"
	"floe/transport/http"
	"floe/transport/ice/server"
)

// mostTopics bounds the topics that have figures of their own in /metrics;
// those beyond are summed up under the name "".
const mostTopics = 1000

// gather adds this node's figures to a scrape.
func (n *node) gather(m *http.Metrics) {
	n.gatherEvents(m)
	n.gatherNative(m)
	n.gatherCluster(m)
	n.gatherListeners(m)
}

const (
	helpOffered   = "Events offered to receivers, counted per event and receiver."
	helpDelivered = "Events delivered to receivers."
	helpDropped   = "Events dropped, by reason."
	helpQueued    = "Events that wait for a receiver or are under way."
)

// gatherEvents adds the delivery's figures. At each scrape offered =
// delivered + dropped + queued.
func (n *node) gatherEvents(m *http.Metrics) {
	stats := n.hub.Stats()
	total := stats.Total
	m.Counter("floe_events_offered_total", helpOffered, float64(total.Offered), "face", "ice")
	m.Counter("floe_events_delivered_total", helpDelivered, float64(total.Delivered), "face", "ice")
	m.Gauge("floe_events_queued", helpQueued, float64(total.Queued), "face", "ice")
	for _, reason := range delivery.Reasons() {
		m.Counter("floe_events_dropped_total", helpDropped, float64(total.Dropped[reason]), "face", "ice", "reason", reason.String())
	}
	var rest delivery.TopicStats
	for i, t := range stats.Topics {
		if i < mostTopics {
			gatherTopic(m, t)
			continue
		}
		rest.Published += t.Published
		rest.Arrived += t.Arrived
	}
	if len(stats.Topics) > mostTopics {
		gatherTopic(m, rest)
	}
}

func gatherTopic(m *http.Metrics, t delivery.TopicStats) {
	m.Counter("floe_topic_published_total", "Events published on a topic of this node.", float64(t.Published), "topic", t.Name)
	m.Counter("floe_topic_arrived_total", "Events that came to a topic over links from outside.", float64(t.Arrived), "topic", t.Name)
	retrying := 0
	for _, r := range t.Receivers {
		if r.State == "retrying" || r.State == "removing" {
			retrying++
		}
	}
	m.Gauge("floe_topic_receivers_failing", "Receivers of a topic that can't be reached now.", float64(retrying), "topic", t.Name)
}

func (n *node) gatherNative(m *http.Metrics) {
	s := n.native.Stats()
	m.Counter("floe_events_offered_total", helpOffered, float64(s.Offered), "face", "native")
	m.Counter("floe_events_delivered_total", helpDelivered, float64(s.Delivered), "face", "native")
	m.Counter("floe_events_dropped_total", helpDropped, float64(s.Dropped), "face", "native", "reason", "queue_full")
	m.Gauge("floe_events_queued", helpQueued, float64(s.Queued), "face", "native")
	m.Gauge("floe_native_topics", "Topics that native subscribers of this node want.", float64(s.Topics))
	m.Gauge("floe_native_subscribers", "Native subscribers of this node.", float64(s.Subscribers))
}

func (n *node) gatherCluster(m *http.Metrics) {
	v := n.cluster.View()
	m.Gauge("floe_applied_index", "Raft index this node's copy stands at.", float64(v.Index))
	m.Gauge("floe_topics", "Topics in the graph.", float64(v.Graph.Len()))
	m.Gauge("floe_members", "Nodes that made themselves known.", float64(len(v.Members)))
	m.Gauge("floe_voters", "Nodes that count for quorum.", float64(v.Voters()))
	m.Gauge("floe_cluster_version", "The cluster version.", float64(v.Version))
	m.Gauge("floe_leader", "1 on the leader, else 0.", yesNo(n.cluster.IsLeader()))
	m.Gauge("floe_ready", "1 once caught up with a leader, else 0.", yesNo(n.cluster.Ready() == nil))
	if age, ever := n.cluster.LastContact(); ever {
		m.Gauge("floe_leader_contact_seconds", "How long ago the leader was heard.", age.Seconds())
	}
}

func (n *node) gatherListeners(m *http.Metrics) {
	const badInput = "Connections and datagrams that were closed or dropped for what they sent."
	const open = "Connections that are open."
	peer := n.port.Stats()
	m.Counter("floe_bad_input_total", badInput, float64(peer.BadInput), "listener", "peer")
	m.Gauge("floe_connections", open, float64(peer.Conns), "listener", "peer")
	api := n.http.Stats()
	m.Counter("floe_bad_input_total", badInput, float64(api.BadInput), "listener", "http")
	m.Gauge("floe_connections", open, float64(api.Connections), "listener", "http")
	for name, s := range n.iceListeners() {
		m.Counter("floe_bad_input_total", badInput, float64(s.BadInput), "listener", name)
		m.Gauge("floe_connections", open, float64(s.Connections), "listener", name)
	}
}

func yesNo(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// iceListeners sums up the figures of listeners of one name.
func (n *node) iceListeners() map[string]server.Stats {
	sums := map[string]server.Stats{}
	for _, s := range n.face.Stats() {
		sum := sums[s.Listener]
		sum.BadInput += s.BadInput
		sum.Connections += s.Connections
		sums[s.Listener] = sum
	}
	return sums
}
