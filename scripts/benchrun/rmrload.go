package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"floe/scripts/rmrapp"
	"floe/transport/http/api"
)

const (
	// idleFor is how long topics are made before a load, to compare with.
	idleFor = time.Second
	// restBefore is how long a cluster rests after a load before its memory is read.
	restBefore = 5 * time.Second
	// ackLimit is how long applications may take to have a table.
	ackLimit = 60 * time.Second
)

// tableLoad loads a table of so many entries, or MEIDs, into a new cluster with one application.
type tableLoad struct{ nodes, entries, meids int }

func (l tableLoad) run(ctx context.Context, b *bench, _ system) (s sample, err error) {
	f, err := b.launchRMR(ctx, l.nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	leader, followers, err := f.leader(ctx)
	if err != nil {
		return nil, err
	}
	if err := leader.load(ctx, firstTable); err != nil {
		return nil, err
	}
	app, err := rmrapp.Start(rmrapp.Config{RouteManager: f.servers[0].rtg})
	if err != nil {
		return nil, err
	}
	defer app.Close()
	if err := within(ctx, ackLimit, app.WaitReady); err != nil {
		return nil, err
	}
	file, last, err := l.write(f.dir)
	if err != nil {
		return nil, err
	}
	if s, err = l.load(ctx, b, f, leader, app, file, last); err != nil {
		return nil, err
	}
	return s, memories(ctx, s, leader, followers)
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

// load has the leader load the file, by the command that people use, while topics are made.
func (l tableLoad) load(ctx context.Context, b *bench, f *fleet, leader *server, app *rmrapp.App, file string, last api.RouteQuery) (sample, error) {
	topics := &topicMaker{server: leader}
	idle, err := topics.longest(ctx, func() error { return sleep(ctx, idleFor) })
	if err != nil {
		return nil, err
	}
	start := time.Now()
	busy, err := topics.longest(ctx, func() error {
		out, err := exec.CommandContext(ctx, b.floePath, "routes", "load", file, "--addr", leader.http, "--timeout", requestLimit.String()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("floe routes load: %w\n%s", err, out)
		}
		return f.answers(ctx, last)
	})
	done := time.Since(start)
	if err != nil {
		return nil, err
	}
	at, err := appliedAt(ctx, app, last)
	return sample{
		readable: milliseconds(done), acked: milliseconds(at.Sub(start)),
		held: milliseconds(busy), heldIdle: milliseconds(idle),
	}, err
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

// topicMaker makes topics one after the other.
type topicMaker struct {
	server *server
	made   int
}

// longest makes topics while something runs, and returns how long the slowest took. One that is under way at the
// end counts.
func (m *topicMaker) longest(ctx context.Context, something func() error) (time.Duration, error) {
	over, failed := make(chan struct{}), make(chan error, 1)
	go func() { failed <- something(); close(over) }()
	api := m.server.api()
	defer api.Close()
	var longest time.Duration
	var err error
	for going := true; going && err == nil; {
		m.made++
		start := time.Now()
		_, err = api.Create(ctx, fmt.Sprintf("topic-%d", m.made))
		longest = max(longest, time.Since(start))
		select {
		case <-over:
			going = false
		default:
		}
	}
	return longest, errors.Join(err, <-failed)
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
