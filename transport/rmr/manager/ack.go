package manager

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"floe/fsm"
	"floe/transport/rmr/proto"
)

// acks are those that are to be committed.
type acks struct {
	mu      sync.Mutex
	waiting map[fsm.AppRef]uint64
}

func (a *acks) note(name string, serial, version uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[fsm.AppRef]uint64{}
	}
	ref := fsm.AppRef{Name: name, Serial: serial}
	a.waiting[ref] = max(a.waiting[ref], version)
}

const (
	ackEvery = time.Second // once is how often they are committed
	ackBatch = 5000        // at a time
)

// commitAcks commits acknowledgements until ctx ends. Nothing waits for them
// but MEIDs that were deleted.
func (m *Manager) commitAcks(ctx context.Context) {
	for ctx.Err() == nil {
		waitFor(ctx, nil, ackEvery)
		batch := m.acks.news(m.cfg.Group.View())
		if len(batch) == 0 || m.cfg.Group.LeaderID() == "" {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		if _, err := m.cfg.Group.Propose(limited, fsm.AckApps{Acks: batch}, "route manager"); err != nil {
			m.log.Debug("acknowledgements not committed, is tried again", "error", err)
		}
		cancel()
	}
}

// news returns what the state does not know yet, a batch at most; what it
// knows, or can't use any more, goes.
func (a *acks) news(v *fsm.View) []fsm.AppAck {
	a.mu.Lock()
	defer a.mu.Unlock()
	var batch []fsm.AppAck
	for ref, version := range a.waiting {
		app, known := v.App(ref.Name)
		switch {
		case known && app.Serial < ref.Serial: // this copy is behind
		case !known || app.Serial != ref.Serial || app.Acked >= version:
			delete(a.waiting, ref)
		case len(batch) < ackBatch:
			batch = append(batch, fsm.AppAck{Name: ref.Name, Serial: ref.Serial, Version: version})
		}
	}
	return batch
}

// acknowledged hands an acknowledgement to the session of the connection or,
// if an app opened another one for it, of the source. One for an app that
// another node serves is told there: the app may hold something else now than
// that node thinks.
func (m *Manager) acknowledged(c *conn, msg *proto.Message) {
	a := &answer{proto.ParseAck(msg.Payload), c}
	s, app := c.owner(), c.app
	if s == nil && app == "" {
		app = m.appAt(string(msg.Src), string(msg.SrcIP))
	}
	if s == nil {
		s = m.session(app)
	}
	if s != nil {
		select {
		case s.acks <- a:
		default:
		}
		return
	}
	m.tell(app)
}

// appAt returns the name of the app whose control port a source is.
func (m *Manager) appAt(sources ...string) string {
	for _, a := range m.cfg.Group.View().Apps {
		for _, control := range a.Control {
			for _, source := range sources {
				if source != "" && control == source {
					return a.Name
				}
			}
		}
	}
	return ""
}

// tellTime is how long it is tried to tell a node something about an app.
const tellTime = time.Minute

// tell has the node that serves an app push it everything, once more if it is
// being told.
func (m *Manager) tell(app string) {
	m.mu.Lock()
	_, told := m.telling[app]
	if app == "" || m.closed || !told && len(m.telling) >= m.cfg.Apps {
		m.mu.Unlock()
		return
	}
	m.telling[app] = told
	m.mu.Unlock()
	if told {
		return
	}
	if !m.spawn(func() {
		for more := true; more; more = m.toldOnce(app) {
			m.tellUntilHeard(app)
		}
	}) {
		m.toldOnce(app)
	}
}

// toldOnce notes that an app's node was told, and returns whether there was
// something new meanwhile.
func (m *Manager) toldOnce(app string) (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if more = m.telling[app] && m.ctx.Err() == nil; more {
		m.telling[app] = false
	} else {
		delete(m.telling, app)
	}
	return more
}

func (m *Manager) tellUntilHeard(app string) {
	ctx, cancel := context.WithTimeout(m.ctx, tellTime)
	defer cancel()
	for ctx.Err() == nil {
		a, known := m.cfg.Group.View().App(app)
		if !known {
			return
		}
		if a.Node == m.node {
			_, _ = m.again(ctx, m.node, []byte(app)) // there is no session yet: it begins with everything
			return
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := m.cfg.Group.Call(limited, a.Node, againMethod, []byte(app))
		cancel()
		waitFor(ctx, nil, ackEvery) // also where it is done: nobody is told more often
		if err == nil {
			return
		}
	}
}

// again answers a node that saw an app of ours acknowledge something else.
func (m *Manager) again(_ context.Context, _ string, app []byte) ([]byte, error) {
	if len(app) > proto.MaxSource {
		return nil, fmt.Errorf("app name of %d bytes", len(app))
	}
	s := m.session(strings.Clone(string(app)))
	if s == nil {
		return nil, fmt.Errorf("app %s is not served here", app)
	}
	s.poke(s.void)
	return nil, nil
}
