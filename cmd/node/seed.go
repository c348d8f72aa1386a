package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/routing"
	"floe/transport/routeload"
)

const (
	// seedTimeout bounds one try to load the seed.
	seedTimeout = time.Minute
	// seedPause is how long to wait, at most, before the next.
	seedPause = time.Second
)

// seedGroup is the cluster as the seed needs it.
type seedGroup interface {
	routeload.Group
	Changed() <-chan struct{}
}

// seed loads the routes that a cluster begins with, into one that never had
// any. Every node may have one: the first that gets to it counts.
type seed struct {
	path    string
	options routing.Options
	group   seedGroup
	log     hclog.Logger
	problem func(string)
}

// run loads the seed once that is possible, or says why it never will be.
// It is no reason for a node not to work.
func (s *seed) run(ctx context.Context) error {
	if s.path == "" {
		return nil
	}
	u, err := s.read()
	if err != nil {
		s.fail(err)
		return nil
	}
	for ctx.Err() == nil {
		changed := s.group.Changed()
		if s.try(ctx, u) {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(seedPause):
		case <-ctx.Done():
		}
	}
	return nil
}

func (s *seed) fail(err error) {
	s.log.Warn("the seed of routes is not loaded", "file", s.path, "error", err)
	s.problem(fmt.Sprintf("the seed of routes is not loaded: %s: %v", s.path, err))
}

func (s *seed) read() (routing.Update, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return routing.Update{}, reason(err)
	}
	if info.Size() > routesLimit {
		return routing.Update{}, fmt.Errorf("more than %d bytes", routesLimit)
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return routing.Update{}, reason(err)
	}
	p := routing.Parse(string(text), s.options)
	return p.Update, p.Err()
}

// reason is an error of a file without the file's name, which is said already.
func reason(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// try tells whether there is nothing left to do.
func (s *seed) try(ctx context.Context, u routing.Update) bool {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	v, err := s.group.Read(ctx)
	if err != nil {
		return false
	}
	if v.Routes.LoadedAt != 0 {
		s.tooLate(v.Routes.LoadedAt)
		return true
	}
	r, err := routeload.New(s.group).Load(ctx, u, fsm.AtVersion(0), "seed "+s.path)
	switch {
	case err == nil:
		s.log.Info("the seed of routes is loaded", "file", s.path, "routes", r.Routes, "meids", r.MEIDs, "version", r.Version)
		return true
	case errors.Is(err, fsm.ErrRoutes):
		s.fail(err)
		return true
	}
	return false // it is too early, or somebody was quicker: the next look tells
}

func (s *seed) tooLate(version uint64) {
	s.log.Info("the seed of routes is not needed: the cluster has routes", "file", s.path, "version", version)
}

// seedRoutes is the node's seed.
func (n *node) seedRoutes(ctx context.Context) error {
	s := &seed{
		path: n.options.text("seed-routes"), options: routing.Options{RefuseReserved: n.options.text("refuse-reserved") == "true"},
		group: n.cluster, log: n.log, problem: func(text string) { n.seedProblem.Store(&text) },
	}
	return s.run(ctx)
}

// problems are those of a node that its parts don't tell of. A seed that
// can't be loaded is none any more once there are routes.
func (n *node) problems() []string {
	all := n.tlsProblems()
	if text := n.seedProblem.Load(); text != nil && n.cluster.View().Routes.LoadedAt == 0 {
		all = append(all, *text)
	}
	if text := n.prober.Problem(); text != "" {
		all = append(all, text)
	}
	for _, a := range n.relay.Stats().Alarms {
		if a.Raised {
			all = append(all, fmt.Sprintf("RMR application %s says: %s (since %s)", a.Source, strconv.QuoteToGraphic(a.Text), a.At.UTC().Format(time.RFC3339)))
		}
	}
	return all
}
