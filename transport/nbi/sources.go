package nbi

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/routing/derive"
)

// firstTries is how many questions that fail in a row are asked again soon.
const firstTries = 10

// errNotAsked: no address of that manager is known.
var errNotAsked = errors.New("its address is not known")

// Sources asks the managers for what they know, as far as their addresses are
// known: on the leader, when it becomes one and every minute from then on.
// What a manager says goes to the state only where it is an answer; one that
// is down or talks rubbish leaves everything as it is.
type Sources struct {
	config SourcesConfig
	log    hclog.Logger

	xapps sync.Mutex // one question for xApps at a time, so that its answers come in order
	empty bool       // the last answer was that there are none at all
}

// NewSources returns sources; the caller calls Run.
func NewSources(config SourcesConfig) *Sources {
	config = config.filled()
	return &Sources{config: config, log: config.Log}
}

// source is one manager's answer to one question.
type source struct {
	name string
	// ask asks once and puts the answer into the state. It returns whether
	// something is to be looked at again soon.
	ask func(ctx context.Context) (again bool, err error)
	// forget is called when this node is no longer, or not yet, the leader.
	forget func()
}

// Run asks until ctx ends, and returns nil.
func (s *Sources) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, from := range s.sources() {
		all.Go(func() { s.run(ctx, from) })
	}
	all.Wait()
	s.config.Client.CloseIdleConnections()
	return nil
}

func (s *Sources) sources() []source {
	u := s.config.URLs
	var list []source
	if u.XApps != "" {
		list = append(list, source{"xApps of " + u.XApps, func(ctx context.Context) (bool, error) { return s.askXApps(ctx, s.commit) }, func() {}})
	}
	if u.E2Ts != "" {
		list = append(list, s.compared("E2Ts of "+u.E2Ts, u.E2Ts, e2tSet{}))
	}
	if u.Subscriptions != "" {
		list = append(list, s.compared("subscriptions of "+u.Subscriptions, u.Subscriptions, subscriptionSet{}))
	}
	if u.Hooks != "" && u.Target != "" {
		list = append(list, source{"web hook at " + u.Hooks, s.askHook, func() {}})
	}
	return list
}

func (s *Sources) run(ctx context.Context, from source) {
	failures := 0
	for ctx.Err() == nil {
		changed := s.config.LeaderChanged()
		if !s.config.Leads() {
			from.forget()
			failures = 0
			pause(ctx, changed, s.config.Retry) // the news may come before Leads knows of it
			continue
		}
		again, err := s.once(ctx, from)
		if err != nil && ctx.Err() == nil {
			failures++
			s.complain(from.name, failures, err)
		} else if err == nil {
			if failures > 0 {
				s.log.Info("a manager answers again", "source", from.name)
			}
			failures = 0
		}
		pause(ctx, changed, s.delay(again, failures))
	}
}

// once asks within the time for one question.
func (s *Sources) once(ctx context.Context, from source) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return from.ask(ctx)
}

func (s *Sources) complain(name string, failures int, err error) {
	if failures == 1 {
		s.log.Warn("a question to a manager came to nothing; what it said before stays", "source", name, "reason", err)
		return
	}
	s.log.Debug("a question to a manager came to nothing again", "source", name, "failures", failures, "reason", err)
}

func (s *Sources) delay(again bool, failures int) time.Duration {
	switch {
	case failures > 0 && failures < firstTries:
		return s.config.Retry
	case failures == 0 && again:
		return s.config.Confirm
	}
	return s.config.Every
}

// pause waits, but not over a change of leadership.
func pause(ctx context.Context, changed <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
	}
}

// commit puts a change into the state unless it would change nothing.
func (s *Sources) commit(ctx context.Context, from string, c derive.Change) error {
	was := s.config.Group.View().Routes.Facts
	if next, err := was.Apply(c); err != nil || next == was {
		return err
	}
	return s.propose(ctx, from, c)
}

// propose puts a change into the state, whatever this node's copy, which may
// be old, says about it.
func (s *Sources) propose(ctx context.Context, from string, c derive.Change) error {
	_, err := s.config.Group.Propose(ctx, fsm.ChangeFacts{Changes: []derive.Change{c}}, from)
	return err
}
