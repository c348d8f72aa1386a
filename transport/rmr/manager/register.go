package manager

import (
	"context"
	"slices"
	"time"

	"floe/fsm"
)

// registration is the attempt to have an app committed.
type registration struct {
	cancel context.CancelFunc
	done   chan uint64 // gets the serial
	since  uint64      // a registration after this one is a later one
}

// result is nil while nothing is under way.
func (r *registration) result() <-chan uint64 {
	if r == nil {
		return nil
	}
	return r.done
}

func (r *registration) stop() {
	if r != nil {
		r.cancel()
	}
}

// register has the app committed as this node's, in the background: its
// request is answered with or without a leader.
func (s *session) register() {
	s.reg.stop()
	ctx, cancel := context.WithCancel(s.m.ctx)
	v := s.m.cfg.Group.View()
	r := &registration{cancel: cancel, done: make(chan uint64, 1), since: v.Index + v.Shift}
	peer := hostOf(s.conn.nc)
	op := fsm.RegisterApp{Name: s.name, Control: s.control, Node: s.m.node, Time: time.Now().UnixNano()}
	if s.m.spawn(func() {
		if wait := time.Duration(0); !s.m.cfg.Exempt(peer) {
			wait = s.m.buckets.take(peer, time.Now())
			waitFor(ctx, nil, wait)
		}
		s.m.register(ctx, op, r.done)
	}) {
		s.reg = r
	}
}

// register proposes until it is done or ctx ends.
func (m *Manager) register(ctx context.Context, op fsm.RegisterApp, done chan<- uint64) {
	for n := 0; ctx.Err() == nil; n++ {
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		result, err := m.cfg.Group.Propose(limited, op, "route manager")
		cancel()
		if err == nil {
			done <- result.Serial
			return
		}
		if ctx.Err() == nil {
			m.complain.warn("app could not be registered, is tried again", "app", op.Name, "error", err)
		}
		waitFor(ctx, m.cfg.Group.LeaderChanged(), pauses(n+1, maxRetry))
	}
}

// moves says that an app asks from other addresses than before: what asked
// there is served no more, should it be another program of the same name.
func (m *Manager) moves(app string, control []string) {
	if was, known := m.cfg.Group.View().App(app); known && !slices.Equal(was.Control, control) {
		m.complain.warn("app asks from another address: what asked before by this name is served no more", "app", app, "address", control, "before", was.Control)
	}
}

// registered: from now on the app is served also unasked.
func (s *session) registered(serial uint64) {
	s.reg.stop()
	s.reg = nil
	s.serial, s.foreign = serial, false
	s.noteAck()
}

// expire has an app forgotten that gave no sign of life for long.
func (s *session) expire(now time.Time) {
	if now.Sub(s.heard) < s.m.cfg.Expire || now.Before(s.forgetAt) || !s.allowed() {
		return
	}
	s.forgetAt = now.Add(time.Minute)
	op := fsm.ForgetApps{Apps: []fsm.AppRef{{Name: s.name, Serial: s.serial}}, Reason: "no sign of life for " + s.m.cfg.Expire.String()}
	s.m.spawn(func() {
		ctx, cancel := context.WithTimeout(s.m.ctx, 10*time.Second)
		defer cancel()
		if _, err := s.m.cfg.Group.Propose(ctx, op, "route manager"); err != nil {
			s.m.log.Debug("app not forgotten", "app", s.name, "error", err)
			return
		}
		s.m.log.Info("app forgotten", "app", s.name, "silent", s.m.cfg.Expire)
	})
}
