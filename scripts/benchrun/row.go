package main

import (
	"context"
	"fmt"
	"slices"
)

// row is one line of a table.
type row struct {
	name    string
	table   *table
	targets []target
	short   bool // also part of the short run
	alone   bool // floe only: there is nothing comparable
	once    bool // one round only: its figure is a median already, or hardly changes
	runner
}

// runner makes a row's figures on new servers of a kind.
type runner interface {
	run(ctx context.Context, b *bench, kind system) (sample, error)
}

// table is a group of rows with the same figures.
type table struct {
	title   string
	metrics []metric
	limited bool // rows say whether the clients were the limit
}

var (
	flatOut   = &table{title: "Publishers flat out", metrics: []metric{delivered, cpuEvent, loss, peak, cores}, limited: true}
	paced     = &table{title: "Publishers at a fixed rate", metrics: []metric{p50, p99, cpuEvent, loss}}
	creating  = &table{title: "Creating topics", metrics: []metric{creates}}
	footprint = &table{title: "Memory and start", metrics: []metric{memory, idleCPU, answer, ready}}
)

// allRows is everything that can be measured, in the order of the tables. Publishers publish for so many seconds.
func allRows(seconds float64) []row {
	var all []row
	for _, s := range shapes {
		for _, mode := range []string{"oneway", "batch", "ordered"} {
			for _, size := range []int{16, 256, 4096} {
				all = append(all, flatRow(s, mode, size, seconds))
			}
		}
	}
	for _, s := range shapes {
		all = append(all, pacedRow(s, 1000, seconds))
	}
	for _, s := range shapes {
		if s.link != noLink {
			all = append(all, pacedRow(s, 10000, seconds))
		}
	}
	return append(append(all, createRows()...), footprintRows()...)
}

// shape is who publishes to whom.
type shape struct {
	name                    string
	publishers, subscribers int
	link                    place
}

var shapes = []shape{
	{"1->1", 1, 1, noLink},
	{"1->8", 1, 8, noLink},
	{"4->4", 4, 4, noLink},
	{string(linkInside), 1, 1, linkInside},
	{string(linkSecond), 1, 1, linkSecond},
}

func flatRow(s shape, mode string, size int, seconds float64) row {
	l := load{publishers: s.publishers, subscribers: s.subscribers, link: s.link, mode: mode, size: size, seconds: seconds}
	switch mode {
	case "ordered":
		l.seconds /= 2 // IceStorm takes several times as long to deliver it
	case "batch":
		l.seconds *= 2 // the last batch may come a second later
	}
	targets := []target{{metric: delivered, ratio: true, atLeast: true, limit: 1.2}, cpuTarget(mode)}
	if s.link != noLink {
		targets = append(targets, noLoss)
	}
	return row{
		name: fmt.Sprintf("%s %s %d B", s.name, mode, size), table: flatOut, targets: targets, runner: l,
		short: size == 256 && (s.name == "1->1" || mode == "oneway" && s.link != linkInside),
	}
}

// noLoss holds on links.
var noLoss = target{metric: loss, limit: 0}

func cpuTarget(mode string) target {
	if mode == "oneway" {
		return target{metric: cpuEvent, ratio: true, limit: 0.5}
	}
	return target{metric: cpuEvent, ratio: true, limit: 1}
}

// pacedRow measures latency, and on links the cost of an event where IceStorm loses none.
func pacedRow(s shape, rate, seconds float64) row {
	l := load{
		publishers: s.publishers, subscribers: s.subscribers, link: s.link, mode: "oneway", size: 256, rate: rate,
		seconds: seconds * 5000 / max(rate, 2500), // enough events for a p99, and for ticks of CPU time
	}
	targets := []target{{metric: cpuEvent, ratio: true, limit: 1}}
	if s.link != noLink {
		targets = append(targets, noLoss)
	}
	if rate > 1000 {
		targets[0].limit = 0.5
	}
	return row{
		name: fmt.Sprintf("%s oneway 256 B %v/s", s.name, rate), table: paced, targets: targets, runner: l,
		short: s.name == "1->1",
	}
}

func createRows() []row {
	return []row{
		{name: "create alone", table: creating, runner: creation{count: 500, inflight: 1}},
		{
			name: "create 64 in flight", table: creating, runner: creation{count: 2000, inflight: 64}, short: true,
			targets: []target{{metric: creates, ratio: true, atLeast: true, limit: 2}},
		},
	}
}

func footprintRows() []row {
	atMost := func(m metric, limit float64) []target { return []target{{metric: m, limit: limit}} }
	return []row{
		{name: "idle", table: footprint, runner: idle{}, targets: atMost(memory, 30), short: true, once: true},
		{name: "10 000 topics", table: footprint, runner: idle{10000}, targets: atMost(memory, 60), once: true},
		{
			name: "start with 10 000 topics on disk", table: footprint, runner: startup{topics: 10000, times: 3}, once: true,
			targets: slices.Concat(atMost(memory, 60), atMost(ready, 1000)), alone: true,
		},
		{
			name: "start of an empty node", table: footprint, runner: startup{times: 5}, once: true,
			targets: slices.Concat(atMost(answer, 100), atMost(ready, 100)), alone: true, short: true,
		},
	}
}
