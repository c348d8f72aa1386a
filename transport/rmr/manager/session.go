package manager

import (
	"slices"
	"sync"
	"time"

	"floe/fsm"
	"floe/transport/rmr/proto"
)

// session is one app with this node. Its goroutine owns all but the channels
// and the status; it waits for nothing but its own socket.
type session struct {
	m    *Manager
	name string
	asks chan *ask     // holds one
	acks chan *answer  // what is too much is lost, as if the app had been silent
	wake chan struct{} // state or lease changed
	void chan struct{} // somebody else pushed to the app
	done chan struct{}

	serial  uint64 // the incarnation this node serves; 0: none that is committed
	control []string
	reg     *registration // under way
	heard   time.Time     // last sign of life

	conn    *conn
	owed    bool                // it asked on conn, and was not answered yet
	out     *push               // sent on conn, not acknowledged yet
	base    *edition            // acknowledged on conn with nothing sent since; nil: nothing is known
	last    *edition            // sent last to this incarnation
	unsure  []*edition          // of which the app may hold parts: sent since base, base included
	lost    map[string]struct{} // MEIDs of older ones that are gone
	torn    bool                // a table that was cut may be open in the app
	foreign bool                // something was sent when another node may have served the app
	dialled bool                // something was sent on a connection that was opened here
	astray  bool                // what was sent elsewhere may come yet, and nobody hear of it
	again   []time.Time         // when everything is sent once more for that

	dials    chan dialed // open while one is under way
	dialNext int         // of control
	dialWait time.Duration
	dialAt   time.Time
	silent   int       // tables in a row that were not answered
	repeatAt time.Time // not before is the same sent again
	refused  int       // tables in a row that were refused
	retryAt  time.Time // not before is anything sent again
	forgetAt time.Time

	mu     sync.Mutex
	status status
}

// push is a table under way.
type push struct {
	*content
	wait  time.Duration
	due   time.Time // when wait is over; then it counts as not answered
	void  bool      // an answer says nothing about what the app holds
	asked bool      // it answers a request
}

// answer is an acknowledgement.
type answer struct {
	proto.Ack
	conn *conn
}

func newSession(m *Manager, name string) *session {
	return &session{
		m: m, name: name, heard: time.Now(),
		asks: make(chan *ask, 1), acks: make(chan *answer, 16), wake: make(chan struct{}, 1), void: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func (s *session) poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// never is longer than anybody waits: something wakes the session before.
const never = time.Hour

func (s *session) run() {
	defer close(s.done)
	timer := time.NewTimer(never)
	defer timer.Stop()
	for s.m.ctx.Err() == nil {
		if !s.adopt() && s.m.leave(s) {
			break
		}
		timer.Reset(max(0, s.step(time.Now())))
		s.wait(timer.C)
	}
	s.end()
}

// wait waits for one thing to happen, and notes it.
func (s *session) wait(timer <-chan time.Time) {
	var ended <-chan struct{}
	if s.conn != nil {
		ended = s.conn.done
	}
	lives := s.conn != nil && s.base != nil // the system at the other end answers for it
	select {
	case <-s.m.ctx.Done():
	case a := <-s.asks:
		s.asked(a)
	case a := <-s.acks:
		s.answered(a)
	case <-ended:
		s.broken("connection lost")
	case serial := <-s.reg.result():
		s.registered(serial)
	case d := <-s.dials:
		s.connected(d)
	case <-s.void:
		s.doubt()
	case <-s.wake:
	case <-timer:
	}
	if lives {
		s.heard = time.Now()
	}
}

// adopt takes over what the state says of the app, and tells whether it is
// this node's to serve, or may be soon.
func (s *session) adopt() bool {
	a, known := s.m.cfg.Group.View().App(s.name)
	ours := known && a.Node == s.m.node
	if s.reg != nil {
		if known && !ours && a.Serial > s.reg.since {
			s.reg.cancel() // it asked elsewhere since
			s.reg = nil
		}
		return s.reg != nil
	}
	switch {
	case !ours || a.Serial == s.serial:
	case s.conn != nil && s.conn.accepted:
		s.rename(a)
	default:
		s.begin(a)
	}
	return ours
}

// rename: an earlier registration was committed after a later one. The app is
// the one that is connected.
func (s *session) rename(a fsm.App) {
	s.serial = a.Serial
	s.noteAck()
	if !slices.Equal(a.Control, s.control) {
		s.register()
	}
}

// begin takes an incarnation of the app that is not known here.
func (s *session) begin(a fsm.App) {
	if s.conn != nil {
		s.conn.abort()
	}
	s.serial, s.control, s.heard = a.Serial, a.Control, time.Now()
	s.forget()
	s.foreign, s.dialled, s.torn = false, false, s.m.cfg.Chunk > 0 // who served it before may have been cut short
	s.astray, s.again = a.Before != "", nil
	s.dialAt, s.dialWait = time.Time{}, 0
	s.setStatus(func(st *status) { *st = status{address: first(a.Control), acked: a.Acked} })
}

// forget drops all that is known of what the app holds.
func (s *session) forget() {
	s.conn, s.owed, s.out, s.base, s.last = nil, false, nil, nil, nil
	s.unsure, s.lost = nil, nil
	s.silent, s.refused, s.repeatAt, s.retryAt = 0, 0, time.Time{}, time.Time{}
}

// asked takes a request: the app has no table. On another connection it
// may be another process.
func (s *session) asked(a *ask) {
	s.heard = time.Now()
	if a.conn == s.conn {
		return // it is owed a table still, or the two crossed
	}
	s.part()
	s.forget()
	s.m.moves(s.name, a.control)
	s.conn, s.control, s.owed, s.torn, s.dialled, s.astray, s.again = a.conn, a.control, true, false, false, false, nil
	s.conn.belongsTo(s)
	s.serial = 0
	s.setStatus(func(st *status) { *st = status{address: first(a.control), connected: true} })
	s.register()
}

// doubt: somebody else pushed to the app. What it holds is not known.
func (s *session) doubt() {
	s.base, s.torn = nil, s.torn || s.m.cfg.Chunk > 0
	s.repeatAt = time.Time{}
	if s.out != nil {
		s.out.void = true
	}
}

// orphanTime is how long a system tries to deliver what a process sent that ended.
const orphanTime = 35 * time.Second

// settle has everything sent once more when what went astray has come or never
// will: soon for what the network held up, and again for what the system of a process
// that was killed went on sending.
func (s *session) settle(now time.Time) {
	if s.astray {
		s.astray, s.again = false, []time.Time{now.Add(s.m.cfg.Late), now.Add(s.m.cfg.Late + orphanTime)}
	}
}

// repeat doubts what the app holds when it is time to, and returns when it is next.
func (s *session) repeat(now time.Time) time.Duration {
	for len(s.again) > 0 && !now.Before(s.again[0]) {
		s.again = s.again[1:]
		s.doubt()
	}
	if len(s.again) == 0 {
		return never
	}
	return s.again[0].Sub(now)
}

// broken drops the connection.
func (s *session) broken(why string) {
	if s.conn != nil {
		_ = s.conn.nc.Close()
	}
	if s.out != nil || s.owed {
		why += " before the table was acknowledged"
	}
	if s.out != nil {
		s.torn, s.astray = s.torn || len(s.out.texts) > 1, true
	}
	s.conn, s.owed, s.out, s.base = nil, false, nil, nil
	s.dialAt, s.repeatAt = time.Now().Add(s.dialWait), time.Time{}
	s.setStatus(func(st *status) { st.connected, st.err = false, why })
	if s.reg != nil && s.last == nil {
		s.reg.cancel() // it will ask again
		s.reg = nil
	}
}

// allowed tells whether something may be sent to the app unasked now.
func (s *session) allowed() bool {
	v := s.m.cfg.Group.View()
	if s.serial == 0 || !s.m.lease.covers(v.Index, s.m.followed.Load()) {
		return false
	}
	a, known := v.App(s.name)
	return known && a.Serial == s.serial && a.Node == s.m.node
}

// part leaves a connection for another one. A table under way may be the
// app's own: its answer has to find the connection open. One of which the app has
// only a part would come late, and is dropped.
func (s *session) part() {
	switch {
	case s.conn == nil:
	case s.out == nil:
		_ = s.conn.nc.Close()
	case s.out.whole() && s.conn.untaken():
		s.conn.abort()
	default:
		s.conn.linger()
	}
}

// replaced tells whether the app asked another node, which answered before
// this one knew. Who asks has just started: what it was sent here was sent on
// a connection that this node opened.
func (s *session) replaced() bool {
	a, known := s.m.cfg.Group.View().App(s.name)
	return s.dialled && known && a.Node != s.m.node && a.Serial != s.serial
}

// end leaves a table under way to be acknowledged, and tells who serves the app
// now if it may have been sent something that he does not know of.
func (s *session) end() {
	s.reg.stop()
	if s.dials != nil {
		if d := <-s.dials; d.err == nil {
			_ = d.nc.Close()
		}
	}
	if s.conn != nil {
		s.linger()
	}
	if s.foreign || s.replaced() {
		s.m.tell(s.name)
	}
}

// linger leaves the connection; where all ends, it waits for what is under way.
func (s *session) linger() {
	c := s.conn
	if s.out == nil || s.m.ctx.Err() == nil {
		s.part()
		return
	}
	stop := time.NewTimer(resignTime)
	defer stop.Stop()
	for s.out != nil {
		select {
		case a := <-s.acks:
			s.answered(a)
		case <-c.done:
			return
		case <-stop.C:
			return
		}
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
