package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"floe/fsm"
)

// AppStatus is what an app was sent and acknowledged.
type AppStatus struct {
	Name    string `json:"name"`    // HOST:PORT of its messages
	Address string `json:"address"` // where it takes tables
	Node    string `json:"node"`    // who serves it
	// VersionSent and VersionAcked are table versions; 0: none.
	VersionSent  uint64 `json:"version_sent"`
	VersionAcked uint64 `json:"version_acked"`
	// AgeSeconds is how long ago it acknowledged or, if it never did, asked.
	AgeSeconds float64 `json:"age_seconds"`
	// Error is what went wrong last, empty once it acknowledged again.
	Error string `json:"error"`
	// Connected tells whether there is a connection.
	Connected bool `json:"connected"`
	// SentAt and AckedAt are when, zero: never by this node.
	SentAt  time.Time `json:"sent_at,omitzero"`
	AckedAt time.Time `json:"acked_at,omitzero"`
}

// status is what a session knows.
type status struct {
	address         string
	connected       bool
	sent, acked     uint64
	sentAt, ackedAt time.Time
	err             string
}

func (s *session) setStatus(change func(*status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

// Apps returns the apps that this node serves, sorted by name.
func (m *Manager) Apps() []AppStatus {
	out := []AppStatus{}
	now := time.Now()
	for _, a := range m.cfg.Group.View().Apps {
		if a.Node != m.node {
			continue
		}
		st := recorded(a, now)
		if s := m.session(a.Name); s != nil {
			s.mu.Lock()
			st.fill(s.status, now)
			s.mu.Unlock()
		}
		out = append(out, st)
	}
	return out
}

// recorded is what the replicated state knows of an app.
func recorded(a fsm.App, now time.Time) AppStatus {
	st := AppStatus{Name: a.Name, Address: first(a.Control), Node: a.Node, VersionAcked: a.Acked}
	if a.Asked > 0 {
		st.AgeSeconds = max(0, now.Sub(time.Unix(0, a.Asked)).Seconds())
	}
	return st
}

func (a *AppStatus) fill(s status, now time.Time) {
	a.VersionSent, a.VersionAcked = s.sent, max(a.VersionAcked, s.acked)
	a.Connected, a.Error, a.SentAt, a.AckedAt = s.connected, s.err, s.sentAt, s.ackedAt
	if s.address != "" {
		a.Address = s.address
	}
	if !s.ackedAt.IsZero() {
		a.AgeSeconds = now.Sub(s.ackedAt).Seconds()
	}
}

// tellApps answers a node that gathers.
func (m *Manager) tellApps(context.Context, string, []byte) ([]byte, error) {
	return json.Marshal(m.Apps())
}

// gatherTime is how long a node may take to tell of its apps.
const gatherTime = 2 * time.Second

// AllApps asks all nodes for the apps they serve, and returns all apps sorted
// by name. What a node that does not answer would know is missing, and the
// app's Error says so. It takes 2 s at most, and needs no leader.
func (m *Manager) AllApps(ctx context.Context) []AppStatus {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	v := m.cfg.Group.View()
	out := []AppStatus{}
	told, failed := m.gather(ctx, v)
	for _, a := range v.Apps {
		st, ok := told[a.Name]
		if !ok || st.Node != a.Node {
			st = recorded(a, time.Now())
			st.Error = fmt.Sprintf("node %s does not know of it yet", a.Node)
			if err := failed[a.Node]; err != nil {
				st.Error = fmt.Sprintf("node %s does not answer: %v", a.Node, err)
			}
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b AppStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m *Manager) gather(ctx context.Context, v *fsm.View) (told map[string]AppStatus, failed map[string]error) {
	told, failed = map[string]AppStatus{}, map[string]error{}
	asked := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, a := range v.Apps {
		if asked[a.Node] {
			continue
		}
		asked[a.Node] = true
		wg.Go(func() {
			var list []AppStatus
			b, err := m.cfg.Group.Call(ctx, a.Node, appsMethod, nil)
			if err == nil {
				err = json.Unmarshal(b, &list)
			}
			mu.Lock()
			defer mu.Unlock()
			failed[a.Node] = err
			for _, st := range list {
				told[st.Name] = st
			}
		})
	}
	wg.Wait()
	return told, failed
}

// counts are what Stats returns.
type counts struct {
	requests, pushes, acks, refusals, unanswered, badInput, refusedConns atomic.Uint64
}

// Stats counts what happened since the Manager was made.
type Stats struct {
	// Requests are table requests that were taken; Pushes tables, updates
	// included, that were sent; Acks acknowledgements that arrived; Refusals
	// those that said no; Unanswered tables that were not acknowledged in time.
	Requests, Pushes, Acks, Refusals, Unanswered uint64
	// BadInput are messages that were refused and connections that were closed
	// for what came on them; RefusedConns those that were one too many.
	BadInput, RefusedConns uint64
	// Connections are open now, Sessions are apps that this node deals with.
	Connections, Sessions int
}

// Stats returns the counters.
func (m *Manager) Stats() Stats {
	c := &m.counts
	m.mu.Lock()
	defer m.mu.Unlock()
	return Stats{
		Requests: c.requests.Load(), Pushes: c.pushes.Load(), Acks: c.acks.Load(), Refusals: c.refusals.Load(), Unanswered: c.unanswered.Load(),
		BadInput: c.badInput.Load(), RefusedConns: c.refusedConns.Load(), Connections: len(m.conns), Sessions: len(m.sessions),
	}
}
