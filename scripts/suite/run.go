package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/lab"
	"floe/scripts/suite/nemesis"
	"floe/scripts/suite/schedule"
	"floe/scripts/suite/workload"
)

// run is one failure run while it happens.
type run struct {
	options options
	lab     *lab.Lab
	nodes   []workload.Node
	log     *history.Log
	sent    *history.Log
	got     *history.Log
	// messages is the log of RMR messages.
	messages *history.Log
	watch    *watcher
	facts    facts

	graph   *workload.Graph
	routes  *workload.Routes
	meids   *workload.MEIDs
	apps    *workload.Apps
	events  *workload.Events
	members *workload.Members
}

func newRun(o options, l *lab.Lab) (*run, error) {
	r := &run{options: o, lab: l, facts: newFacts(o, l)}
	start := time.Now()
	for _, f := range []struct {
		log  **history.Log
		name string
	}{{&r.log, historyFile}, {&r.sent, sentFile}, {&r.got, gotFile}, {&r.messages, messageFile}} {
		log, err := history.Create(filepath.Join(o.Report, f.name), start)
		if err != nil {
			return nil, err
		}
		*f.log = log
	}
	for _, n := range l.Nodes[:o.Nodes] {
		r.nodes = append(r.nodes, workload.Node{Name: n.Name, HTTP: n.HTTP(), IceHost: n.Host, IcePort: lab.IcePort, RMR: n.RMR(), RTG: n.RTG(), Within: n.Within})
	}
	r.watch = &watcher{log: r.log, nodes: r.nodes}
	r.choose()
	return r, r.facts.save(o.Report)
}

// close ends logs and subscribers.
func (r *run) close() error {
	if r.events != nil {
		r.events.Close()
	}
	if r.apps != nil {
		r.apps.Close()
	}
	return errors.Join(r.log.Close(), r.sent.Close(), r.got.Close(), r.messages.Close())
}

// carryOut starts the cluster and takes it through both phases. An error says
// that the run is void: the promises were not put to the test.
func (r *run) carryOut(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	var background sync.WaitGroup
	watching, stopWatching := context.WithCancel(ctx)
	background.Go(func() { r.watch.run(watching) })
	working, stopWorking := context.WithDeadline(ctx, r.options.deadline())
	r.work(working, &background)

	err := r.safety(ctx)
	if err == nil {
		err = r.steady(ctx)
	}
	if err == nil {
		err = r.liveness(ctx)
		<-working.Done()
	}
	stopWorking()
	stopWatching()
	background.Wait()
	if err == nil && ctx.Err() == nil {
		err = r.finish(ctx)
	}
	return errors.Join(err, ctx.Err(), r.facts.save(r.options.Report))
}

// start brings all nodes up, one cluster, and sets the workloads up.
func (r *run) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := startNodes(ctx, r.lab.Nodes[:r.options.Nodes]); err != nil {
		return err
	}
	if err := r.setUp(ctx); err != nil {
		return err
	}
	r.say("the cluster is up: %d nodes, faults begin", len(r.nodes))
	return r.facts.save(r.options.Report)
}

// safety is the phase with faults.
func (r *run) safety(ctx context.Context) error {
	r.phase("safety")
	if !r.lab.Namespaces {
		r.facts.Note = "without root: of the faults there were " + schedule.List(schedule.Possible(r.options.Nemesis)) + " alone"
	}
	n := r.nemesis()
	limit, cancel := context.WithDeadline(ctx, r.options.deadline().Add(-r.options.Time*3/10))
	defer cancel()
	faults, err := n.Run(limit, r.steps())
	r.facts.Faults = faults
	return err
}

func (r *run) nemesis() *nemesis.Nemesis {
	return &nemesis.Nemesis{Lab: nemesis.Of(r.lab, r.options.Nodes), Log: r.log, Leader: r.watch.leader}
}

// steadyAtAll is how much time has to be left for a fault that stays to begin.
const steadyAtAll = 2 * time.Second

// steadyLeast is how long a majority has to be at work to be judged. A disk that
// hangs may stall its node for a while before floe gives up on it; a slow one may be
// the leader's.
func steadyLeast(k schedule.Kind) time.Duration {
	if k == schedule.DiskHang || k == schedule.DiskSlow {
		return 15 * time.Second
	}
	return 4 * time.Second
}

// steady is the first third of the liveness phase: a minority is broken and stays
// so, the others have to serve.
func (r *run) steady(ctx context.Context) error {
	s, ok := r.lasting()
	if !ok {
		return nil
	}
	end := r.options.deadline().Add(-r.options.calmTime())
	if time.Until(end) < steadyAtAll {
		r.say("no time is left for a fault that stays")
		return nil
	}
	r.phase("steady fault")
	limit, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	faults, err := r.nemesis().Hold(limit, s, func(victims []string) {
		r.say("a fault that stays: %s", s.What())
		if left := time.Until(end); left > steadyLeast(s.Kind) { // else it came too late to judge
			r.facts.Steady = check.Span{Start: r.log.Now(), End: r.log.Now() + int64(left)}
			r.facts.Majority = r.lab.Others(victims)
		}
	})
	r.facts.Faults = append(r.facts.Faults, faults...)
	return err
}

// liveness is the phase in which everything is whole and has to work.
func (r *run) liveness(ctx context.Context) error {
	r.phase("liveness")
	r.facts.Calm.Start = r.log.Now()
	r.say("all faults are healed")
	if err := r.options.late(time.Until(r.options.deadline())); err != nil {
		return err
	}
	waiting, cancel := context.WithDeadline(ctx, r.options.deadline())
	defer cancel()
	if err := awaitReady(waiting, r.nodes); err != nil {
		r.log.Note("phase", "", err.Error(), nil) // the checkers say what it means
		return nil
	}
	r.facts.QuietFrom = r.log.Now()
	r.say("all nodes are ready again, %s after the last heal", time.Duration(r.facts.QuietFrom-r.facts.Calm.Start).Round(time.Millisecond))
	return nil
}

// finish lets the last events arrive and reads the end state.
func (r *run) finish(ctx context.Context) error {
	r.phase("final reads")
	r.facts.Calm.End = r.log.Now()
	r.facts.LeaderChanges = r.watch.changes()
	if r.events != nil {
		settling, cancel := context.WithTimeout(ctx, settleTime)
		defer cancel()
		r.events.Settle(settling, r.complete)
	}
	ctx, cancel := context.WithTimeout(ctx, finalTime)
	defer cancel()
	workload.Final(ctx, r.log, r.nodes)
	r.watch.digests(ctx)
	if r.apps != nil {
		r.apps.Finish(ctx)
	}
	return nil
}

const (
	// settleTime is how long late events are waited for, finalTime how long the
	// last reads may take.
	settleTime = 5 * time.Second
	finalTime  = 8 * time.Second
)

// complete says whether every delivery due without a fault has come.
func (r *run) complete() bool {
	result, err := eventResult(r.facts, r.options.Report)
	return err == nil && result.LostInCalm == 0
}

func (r *run) phase(name string) { r.log.Note("phase", "", name, nil) }

func (r *run) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(time.Unix(0, r.options.Started)).Seconds(), fmt.Sprintf(format, args...))
}
