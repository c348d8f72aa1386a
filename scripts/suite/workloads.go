package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"floe/scripts/suite/workload"
)

// workloads are the names of those of a run.
type workloads []string

// all workloads, in the order they are listed for users.
var allWorkloads = workloads{"graph", "routes", "meids", "events", "members"}

// parseWorkloads reads a comma-separated list of workloads, or "all".
func parseWorkloads(text string) (workloads, error) {
	if text == all {
		return allWorkloads, nil
	}
	var chosen workloads
	for word := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allWorkloads, word) {
			return nil, fmt.Errorf("no workload %q: there are %s and all", word, allWorkloads)
		}
		if !chosen.has(word) {
			chosen = append(chosen, word)
		}
	}
	return chosen, nil
}

// String writes workloads as parseWorkloads reads them.
func (w workloads) String() string {
	if len(w) == len(allWorkloads) {
		return all
	}
	return strings.Join(w, ",")
}

func (w workloads) has(name string) bool { return slices.Contains(w, name) }

// messages says whether there are RMR applications.
func (w workloads) messages() bool { return w.has("routes") || w.has("meids") }

// changes says whether there are control operations whose linearizability is
// checked.
func (w workloads) changes() bool { return w.has("graph") || w.has("members") || w.messages() }

// choose makes the workloads that were asked for.
func (r *run) choose() {
	chosen, seed := r.options.Workload, r.options.Seed
	if chosen.has("graph") {
		admin, err := exec.LookPath("icestormadmin")
		if err != nil {
			fmt.Println("icestormadmin is missing, so it takes no part: run scripts/install-deps")
		}
		r.graph = &workload.Graph{Log: r.log, Nodes: r.nodes, Seed: seed, Admin: admin}
	}
	if chosen.has("events") {
		r.events = &workload.Events{Log: r.log, Sent: r.sent, Got: r.got, Nodes: r.nodes, Seed: seed, Listen: r.listen}
	}
	if chosen.messages() {
		r.apps = &workload.Apps{Log: r.log, Messages: r.messages, Nodes: r.nodes, Seed: seed, Routes: chosen.has("routes"), MEIDs: chosen.has("meids")}
	}
	if chosen.has("routes") {
		r.routes = &workload.Routes{Log: r.log, Nodes: r.nodes, Seed: seed, Apps: r.apps}
	}
	if chosen.has("meids") {
		r.meids = &workload.MEIDs{Log: r.log, Nodes: r.nodes, Seed: seed, Apps: r.apps}
	}
	if chosen.has("members") {
		n := r.lab.Nodes[r.options.Nodes]
		r.members = &workload.Members{Log: r.log, Nodes: r.nodes, Seed: seed, Spare: workload.Spare{Name: n.Name, Join: n.Return, Leave: n.Leave, Remove: n.Expel, Renew: n.Renew}}
	}
}

// setUp sets the workloads up, one after the other. The cluster is whole.
func (r *run) setUp(ctx context.Context) error {
	if r.graph != nil {
		if err := r.graph.Setup(ctx); err != nil {
			return err
		}
	}
	if r.apps != nil {
		if err := r.apps.Start(); err != nil {
			return err
		}
		r.facts.MEIDSinks = r.apps.SinkNodes()
	}
	if r.routes != nil {
		if err := r.routes.Setup(ctx); err != nil {
			return err
		}
	}
	if r.meids != nil {
		if err := r.meids.Setup(ctx); err != nil {
			return err
		}
	}
	if r.events != nil {
		if err := r.events.Setup(ctx); err != nil {
			return err
		}
		r.facts.Subscribers = r.events.Subscribers()
	}
	return nil
}

// work starts all workloads.
func (r *run) work(ctx context.Context, all *sync.WaitGroup) {
	if r.graph != nil {
		all.Go(func() { r.graph.Run(ctx) })
	}
	if r.apps != nil {
		all.Go(func() { r.apps.Run(ctx) })
	}
	if r.routes != nil {
		all.Go(func() { r.routes.Run(ctx) })
	}
	if r.meids != nil {
		all.Go(func() { r.meids.Run(ctx) })
	}
	if r.events != nil {
		all.Go(func() { r.events.Run(ctx) })
	}
	if r.members != nil {
		all.Go(func() { r.members.Run(ctx) })
	}
	stale := workload.StaleReader{Log: r.log, Nodes: r.nodes}
	if r.apps != nil {
		stale.Sinks = r.apps.Sinks()
	}
	all.Go(func() { stale.Run(ctx) })
	if r.options.Workload.changes() {
		own := workload.OwnWriter{Log: r.log, Nodes: r.nodes, Seed: r.options.Seed}
		all.Go(func() { own.Run(ctx) })
	}
}
