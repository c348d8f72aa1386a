package manager

import (
	"bytes"
	"errors"
	"maps"
	"time"

	"floe/transport/rmr/proto"
)

// step does what is due, and returns when something is due next if nothing
// happens before.
func (s *session) step(now time.Time) time.Duration {
	repeat := s.repeat(now)
	if s.out != nil {
		if s.overdrawn() {
			s.conn.abort()
			s.broken(errMayNot.Error())
			return 0
		}
		if now.Before(s.out.due) {
			return min(s.out.due.Sub(now), s.untilOver())
		}
		if s.busy(now) {
			return s.out.wait
		}
		if s.out != nil {
			s.unanswered(now)
		}
	}
	s.expire(now)
	e := s.m.edition.Load()
	switch {
	case e == nil: // no table yet: a program that asked goes on asking
		return never
	case s.conn == nil:
		return min(s.reach(now), s.m.cfg.Expire)
	case s.conn.over():
		return never
	case !s.owed && !s.allowed():
		return never
	case now.Before(s.retryAt):
		return s.retryAt.Sub(now)
	case s.base == nil && e == s.last && now.Before(s.repeatAt):
		return s.repeatAt.Sub(now)
	case s.base == e:
		return repeat
	}
	if c := s.content(e); len(c.texts) > 0 {
		if pause := s.mayAsk(c, now); pause > 0 {
			return pause
		}
		return s.push(c)
	}
	s.holds(e) // nothing that matters to it changed
	return repeat
}

// askTime is how long a program that was started anew may take to ask.
const askTime = time.Second

// mayAsk returns how long a table in several messages has to wait on a
// connection that was opened again: an app that was started anew is about to ask,
// and the parts of two tables must not meet.
func (s *session) mayAsk(c *content, now time.Time) time.Duration {
	if len(c.texts) == 1 && !s.torn || s.owed || s.conn.accepted || s.last == nil {
		return 0
	}
	return askTime - now.Sub(s.conn.since)
}

// push sends a table, and returns by when it has to be answered.
func (s *session) push(c *content) time.Duration {
	asked := s.owed
	if s.conn.accepted || s.conn.proven.Load() {
		s.conn.patience(orphanTime - 5*time.Second) // see busy
	}
	s.last, s.base, s.owed = c.of, nil, false
	s.unsure = append(s.unsure, c.of)
	s.foreign, s.dialled = s.foreign || s.serial == 0, s.dialled || !s.conn.accepted
	err := s.send(c, asked)
	if !asked && !s.m.lease.valid() {
		s.foreign = true // it may have arrived late
	}
	if errors.Is(err, errNotAllowed) {
		return never
	}
	if err != nil {
		s.conn.abort()
		s.broken("not sent: " + err.Error())
		return 0
	}
	s.m.counts.pushes.Add(1)
	limit := forSize(s.m.cfg.AckTimeout, c.size)
	s.out = &push{content: c, wait: limit, due: time.Now().Add(limit), asked: asked}
	s.setStatus(func(st *status) { st.sent, st.sentAt = c.of.version, time.Now() })
	return min(limit, s.untilOver())
}

// maxUnsure is how many editions are kept that an app may hold parts of.
const maxUnsure = 8

// content returns what brings the app from what it holds, or from anything
// that it may hold, to an edition.
func (s *session) content(e *edition) *content {
	if s.base != nil {
		return s.m.update(s.base, e, s.name, s.control)
	}
	for len(s.unsure) > maxUnsure {
		s.lost = s.m.addGone(s.lost, s.unsure[0], e)
		s.unsure = s.unsure[1:]
	}
	lost := maps.Clone(s.lost)
	for _, old := range s.unsure {
		lost = s.m.addGone(lost, old, e)
	}
	return s.m.table(e, s.name, s.control, lost)
}

// addGone adds the MEIDs of an older edition that another one lacks, apart
// from those that it has apps forget anyway.
func (m *Manager) addGone(set map[string]struct{}, old, e *edition) map[string]struct{} {
	for _, meid := range m.contents.get(step{old, e}).difference(old, e).meids {
		if _, lives := e.state.MEIDs.Owner(meid); lives || e.gone.Has(meid) {
			continue
		}
		if set == nil {
			set = map[string]struct{}{}
		}
		set[meid] = struct{}{}
	}
	return set
}

var errNotAllowed = errors.New("another node may serve the app by now")

// send writes the messages of a table. What may be sent is looked at right
// before each.
func (s *session) send(c *content, asked bool) error {
	left := s.m.lease.left
	if asked || !c.whole() {
		left = func() time.Duration { return never }
	}
	texts := c.texts
	if s.torn && len(texts) == 1 {
		// A start that meets an open table is answered, too: it gets a
		// message of its own, as a program can answer each message once.
		end := bytes.IndexByte(texts[0], '\n') + 1
		texts = [][]byte{texts[0][:end], texts[0][end:]}
	}
	for i, text := range texts {
		if !asked && !s.allowed() {
			if i > 0 {
				s.torn = true
			}
			return errNotAllowed
		}
		msg := proto.Message{Type: proto.TypeTable, SubID: proto.NoSubID, Payload: text}
		copy(msg.XID[:], c.id)
		head, err := proto.AppendHead(nil, &msg)
		if err == nil {
			err = s.conn.write(head, text, forSize(s.m.cfg.WriteTimeout, len(text)), left)
		}
		if err != nil {
			s.torn = s.torn || len(texts) > 1
			return err
		}
	}
	s.torn = false
	return nil
}

// holds notes that the app holds an edition.
func (s *session) holds(e *edition) {
	s.base, s.last = e, e
	s.unsure, s.lost = []*edition{e}, nil
	s.foreign = s.foreign && !s.allowed()
	s.settle(time.Now())
	s.setStatus(func(st *status) { st.acked, st.ackedAt, st.err = e.version, time.Now(), "" })
	s.noteAck()
}

// noteAck has what the app holds committed.
func (s *session) noteAck() {
	if s.serial != 0 && s.base != nil {
		s.m.acks.note(s.name, s.serial, s.base.version)
	}
}

// answered takes an acknowledgement, of the connection or of one that the
// app opened for it. What comes late on an older connection may be of another
// process, and apps share the ids of what they share: then it is not known what
// the app holds.
func (s *session) answered(a *answer) {
	if a.conn != s.conn && !a.conn.strange() {
		s.doubt()
		return
	}
	s.heard = time.Now()
	if s.out == nil || !a.For(s.out.id) {
		return // of something older
	}
	out := s.out
	s.out, s.silent = nil, 0
	s.conn.patience(deadAfter)
	if !a.OK {
		s.rejected(out, a)
		return
	}
	s.refused, s.dialWait = 0, 0
	s.conn.proven.Store(true)
	if out.void {
		return
	}
	s.holds(out.of)
}

// rejected: everything is sent, at once and then with pauses.
func (s *session) rejected(out *push, a *answer) {
	s.m.counts.refusals.Add(1)
	s.m.complain.warn("app refused what it was sent", "app", s.name, "what", out.what(), "answer", a.Text)
	s.setStatus(func(st *status) { st.err = out.what() + " refused: " + a.Text })
	s.retryAt = time.Now().Add(pauses(s.refused, maxRetry))
	s.refused++
}

// overdrawn tells whether a table that the app's system has not taken all of is under
// way without a lease: another node may push by now, and the rest would
// come after what that one sends. One in several messages is left: on a new
// connection the same node would have its parts meet those that the app has not read yet.
func (s *session) overdrawn() bool {
	return !s.out.asked && s.out.whole() && !s.m.lease.valid() && s.conn.untaken()
}

// untilOver returns when a table under way is to be looked at, should the lease end.
func (s *session) untilOver() time.Duration {
	if left := s.m.lease.left(); left > 0 && !s.out.asked {
		return left
	}
	return never
}

// probeTime is by when a system that takes nothing was asked again, and answered.
const probeTime = 3 * time.Second

// busy tells whether the app may have been too slow yet to read what was sent,
// in which case more would only be more to read: a large table takes a program seconds, and on a
// busy machine many. Its system answers that it can't take more; where it
// does not, it is gone. It asks less and less often, so the wait doubles.
func (s *session) busy(now time.Time) bool {
	if !s.conn.accepted && !s.conn.proven.Load() {
		return false // it may not be the app
	}
	stuck, lives := s.conn.stuck(max(s.out.wait, probeTime))
	switch {
	case !stuck:
		return false
	case !lives:
		s.conn.abort()
		s.broken("the app's host is silent")
		return false
	}
	s.setStatus(func(st *status) { st.err = s.out.what() + " is not being read" })
	s.out.wait = min(2*s.out.wait, maxRepeat)
	s.out.due = now.Add(s.out.wait)
	return true
}

// unanswered: what the app holds is not known. On a connection that it
// never answered on, it may not be the app; on another it may be slow, or
// unable to answer: then the connection is kept, as who finds it closed never
// answers again.
func (s *session) unanswered(now time.Time) {
	s.m.counts.unanswered.Add(1)
	out := s.out
	s.setStatus(func(st *status) { st.err = out.what() + " was not acknowledged" })
	s.out, s.base = nil, nil
	s.repeatAt = now.Add(pauses(s.silent, maxRepeat))
	s.silent++
	if !s.conn.accepted && !s.conn.proven.Load() && s.silent <= 2*len(s.control) {
		s.broken(out.what() + " was not acknowledged")
	}
}

const (
	maxRetry  = 10 * time.Second
	maxRepeat = 5 * time.Minute
)

// pauses returns 0, 1, 2, 4 and so on seconds, up to a limit.
func pauses(n int, limit time.Duration) time.Duration {
	if n == 0 {
		return 0
	}
	return min(time.Second<<min(n-1, 20), limit)
}
