package main

import (
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"floe/cluster"
	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/http/api"
	"floe/transport/native"
	"floe/transport/nbi"
	"floe/transport/rmr/manager"
)

// family is one metric: its name, help and labels, and whether it counts.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// families are all of them.
var families []family

// counter and gauge make a family. A counter's name ends in _total.
func counter(name, help string, labels ...string) family {
	return newFamily(prometheus.CounterValue, name, help, labels)
}

func gauge(name, help string, labels ...string) family {
	return newFamily(prometheus.GaugeValue, name, help, labels)
}

func newFamily(kind prometheus.ValueType, name, help string, labels []string) family {
	f := family{prometheus.NewDesc(name, help, labels, nil), kind}
	families = append(families, f)
	return f
}

// figures are what one scrape looks at. Each part is taken once, so that the
// sums hold in every scrape.
type figures struct {
	node      string
	events    delivery.Stats
	native    native.Stats
	messages  messageFigures
	apps      []manager.AppStatus
	view      *fsm.View
	cluster   cluster.Figures
	standing  standing
	listeners []listenerStats
	refused   map[string]uint64
	errors    map[api.Kind]uint64
	oldCalls  nbi.Stats
	secrets   certificateFigures
}

// figures takes them from a running node.
func (n *node) figures() figures {
	return figures{
		node:   n.cluster.ID(),
		events: n.hub.Stats(), native: n.native.Stats(), messages: n.messageFigures(), apps: n.manager.Apps(), view: n.cluster.View(), cluster: n.cluster.Figures(),
		standing: n.standing(), listeners: n.listenerFigures(), refused: n.face.Refused(), errors: n.http.Stats().Errors, oldCalls: n.nbi.Stats(), secrets: n.certificateFigures(),
	}
}

// gatherer turns a node's figures into metrics at each scrape; it keeps none.
// Safe for concurrent use.
type gatherer struct {
	look func() figures
	// sizes remembers how large the graph of the last scrape was.
	sizes atomic.Pointer[graphSizes]
}

// Describe names all families.
func (g *gatherer) Describe(out chan<- *prometheus.Desc) {
	for _, f := range families {
		out <- f.desc
	}
}

// Collect takes the figures as they are now.
func (g *gatherer) Collect(out chan<- prometheus.Metric) {
	s, now := samples{out}, g.look()
	s.events(now.events)
	s.topics(now.events, now.view)
	s.receivers(now.events, now.view)
	s.links(now.events, now.view)
	s.native(now.native)
	s.messages(now.messages)
	s.apps(now.view, now.apps)
	s.graph(now.view, g.measure(now.view.Graph), now.node)
	s.raft(now.cluster, now.standing)
	s.store(now.cluster)
	s.listeners(now.listeners, now.refused)
	s.calls(now.errors, now.oldCalls)
	s.certificates(now.secrets)
}

// samples is where the metrics of one scrape go.
type samples struct{ out chan<- prometheus.Metric }

// put adds a sample. What is no UTF-8 in a label is replaced: identities may
// hold any bytes, the format may not.
func (s samples) put(f family, value float64, labels ...string) {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	m, err := prometheus.NewConstMetric(f.desc, f.kind, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(f.desc, err) // the scrape says so
	}
	s.out <- m
}

func yesNo(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// graphSizes are how many links and subscriptions a graph has.
type graphSizes struct {
	graph                *topics.Graph
	links, subscriptions int
}

// measure counts anew only where the graph has changed.
func (g *gatherer) measure(graph *topics.Graph) graphSizes {
	if last := g.sizes.Load(); last != nil && last.graph == graph {
		return *last
	}
	sizes := graphSizes{graph: graph}
	for t := range graph.All() {
		sizes.links += len(t.Links)
		sizes.subscriptions += len(t.Subscriptions)
	}
	g.sizes.Store(&sizes)
	return sizes
}
