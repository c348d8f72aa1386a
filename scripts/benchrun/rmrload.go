package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"floe/scripts/rmrapp"
	"floe/transport/http/api"
)

const (
	// topicPause is how long after a topic the next one is made.
	topicPause = 2 * time.Millisecond
	// restBefore is how long a cluster rests after a load before its memory is read.
	restBefore = 5 * time.Second
	// ackLimit is how long applications may take to have a table.
	ackLimit = 60 * time.Second
)

// tableLoad loads a table of so many entries, or MEIDs, into a new cluster with one application.
type tableLoad struct{ nodes, entries, meids int }

// run loads it twice: with nothing else to do, for how long it takes, and while topics are made, for how long it
// holds those up.
func (l tableLoad) run(ctx context.Context, b *bench, _ system) (sample, error) {
	s, err := l.alone(ctx, b)
	if err != nil {
		return nil, err
	}
	h, err := l.amongOthers(ctx, b)
	maps.Copy(s, h)
	return s, err
}

// loadSite is a cluster with an application that has a first, small table.
type loadSite struct {
	*fleet
	leader    *server
	followers []*server
	app       *rmrapp.App
}

func (b *bench) loadSite(ctx context.Context, nodes int) (_ *loadSite, err error) {
	f, err := b.launchRMR(ctx, nodes)
	if err != nil {
		return nil, err
	}
	s := &loadSite{fleet: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.leader, s.followers, err = f.leader(ctx); err != nil {
		return nil, err
	}
	if err := s.leader.load(ctx, firstTable); err != nil {
		return nil, err
	}
	if s.app, err = rmrapp.Start(rmrapp.Config{RouteManager: f.servers[0].rtg}); err != nil {
		return nil, err
	}
	return s, within(ctx, ackLimit, s.app.WaitReady)
}

func (s *loadSite) close() error {
	if s.app != nil {
		s.app.Close()
	}
	return s.fleet.close()
}

// alone measures time, work and memory of a load.
func (l tableLoad) alone(ctx context.Context, b *bench) (s sample, err error) {
	on, err := b.loadSite(ctx, l.nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, on.close()) }()
	file, last, err := l.write(on.dir)
	if err != nil {
		return nil, err
	}
	before, err := on.cpu()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := b.loadFile(ctx, on.leader, file); err != nil {
		return nil, err
	}
	if err := on.answers(ctx, last); err != nil {
		return nil, err
	}
	done := time.Now()
	after, err := on.cpu()
	if err != nil {
		return nil, err
	}
	at, err := appliedAt(ctx, on.app, last)
	if err != nil {
		return nil, err
	}
	s = sample{readable: milliseconds(done.Sub(start)), acked: milliseconds(at.Sub(start)), loadCPU: milliseconds(after - before)}
	return s, memories(ctx, s, on.leader, on.followers)
}

// amongOthers measures how long a load holds up topics that are made at the leader, beside those of a node that has
// nothing else to do.
func (l tableLoad) amongOthers(ctx context.Context, b *bench) (s sample, err error) {
	on, err := b.loadSite(ctx, l.nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, on.close()) }()
	beside, err := b.launchRMR(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, beside.close()) }()
	file, last, err := l.write(on.dir)
	if err != nil {
		return nil, err
	}
	return whileMakingTopics(ctx, on.leader, beside.servers[0], func() error {
		if err := b.loadFile(ctx, on.leader, file); err != nil {
			return err
		}
		return on.answers(ctx, last)
	})
}

// write makes the file to load.
func (l tableLoad) write(dir string) (string, api.RouteQuery, error) {
	text, last := routeText(l.entries)
	if l.meids > 0 {
		text, last = mapText(l.meids, []string{"e2term1.ricplt:38000", "e2term2.ricplt:38000"})
	}
	path := filepath.Join(dir, "routes.txt")
	return path, last, os.WriteFile(path, []byte(text), 0o666)
}

// loadFile has a node load the file, by the command that people use.
func (b *bench) loadFile(ctx context.Context, s *server, file string) error {
	out, err := exec.CommandContext(ctx, b.floePath, "routes", "load", file, "--addr", s.http, "--timeout", requestLimit.String()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("floe routes load: %w\n%s", err, out)
	}
	return nil
}

// answers returns once every node has said that a message goes somewhere; what they read is up to date.
func (f *fleet) answers(ctx context.Context, q api.RouteQuery) error {
	for _, s := range f.servers {
		api := s.api()
		found, err := api.LookupRoute(ctx, q)
		api.Close()
		if err != nil {
			return err
		}
		if found.Reason != "" {
			return fmt.Errorf("after the load: %+v: %s", q, found.Reason)
		}
	}
	return nil
}

// appliedAt waits until an application has a table by which a message goes somewhere, and returns when it
// acknowledged that.
func appliedAt(ctx context.Context, app *rmrapp.App, q api.RouteQuery) (time.Time, error) {
	err := within(ctx, ackLimit, func(ctx context.Context) error {
		return app.Wait(ctx, "at the new table", func(a *rmrapp.App) bool { return a.Lookup(q.MType, q.SubID, q.MEID) != nil })
	})
	event, _ := app.Last()
	return event.At, err
}

// whileMakingTopics does something while topics are made on both nodes, and returns how long the slowest took on each.
func whileMakingTopics(ctx context.Context, here, beside *server, something func() error) (sample, error) {
	over := make(chan struct{})
	var longest [2]time.Duration
	var errs [3]error
	var wg sync.WaitGroup
	for i, on := range []*server{here, beside} {
		wg.Go(func() { longest[i], errs[i] = makeTopics(ctx, on, over) })
	}
	errs[2] = something()
	close(over)
	wg.Wait()
	return sample{held: milliseconds(longest[0]), heldBeside: milliseconds(longest[1])}, errors.Join(errs[:]...)
}

// makeTopics makes topics one after the other until over is closed, and returns how long the slowest took. One that is
// under way at the end counts.
func makeTopics(ctx context.Context, on *server, over <-chan struct{}) (longest time.Duration, err error) {
	api := on.api()
	defer api.Close()
	for i := 0; ; i++ {
		start := time.Now()
		if _, err := api.Create(ctx, fmt.Sprintf("topic-%d", i)); err != nil {
			return longest, err
		}
		longest = max(longest, time.Since(start))
		select {
		case <-over:
			return longest, nil
		case <-time.After(topicPause):
		}
	}
}

// memories adds what the nodes take once they have rested.
func memories(ctx context.Context, s sample, leader *server, followers []*server) error {
	if err := sleep(ctx, restBefore); err != nil {
		return err
	}
	var errs []error
	read := func(of *server, field string, to metric) {
		mb, err := memoryOf([]int{of.pid}, field)
		s[to] = max(s[to], mb)
		errs = append(errs, err)
	}
	read(leader, "VmRSS", leaderRSS)
	read(leader, "RssAnon", leaderAnon)
	for _, f := range followers {
		read(f, "VmRSS", followerRSS)
		read(f, "RssAnon", followerAnon)
	}
	return errors.Join(errs...)
}

// within calls a function with a context that ends after the limit.
func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
