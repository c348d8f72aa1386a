package manager

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"floe/routing"
	"floe/transport/rmr/proto"
)

// content is what an app is sent at a time: one table in one or more
// messages. No texts: there is nothing to be sent.
type content struct {
	id    string
	of    *edition
	full  bool
	texts [][]byte
	size  int
}

// whole tells whether it is one message, which an app gets all of or nothing.
func (c *content) whole() bool { return len(c.texts) == 1 }

// what names the content in errors.
func (c *content) what() string {
	switch {
	case c.full:
		return fmt.Sprintf("table of version %d", c.of.version)
	case len(c.texts) > 0 && slices.Equal(c.texts[0][:4], []byte("meid")):
		return fmt.Sprintf("MEID map update to version %d", c.of.version)
	}
	return fmt.Sprintf("update to version %d", c.of.version)
}

// contents are those that apps share: made once, by the first that needs
// one, and kept for a while. Most apps see the same and hold the same.
type contents struct {
	mu sync.Mutex
	by map[step]*shared
}

// step is from the edition that an app holds to the one that it is to hold;
// from nil: nothing is known.
type step struct{ from, to *edition }

type shared struct {
	differ, encode sync.Once
	lacks          difference
	content        *content
	used           time.Time
}

func (sh *shared) difference(from, to *edition) *difference {
	sh.differ.Do(func() { sh.lacks = differ(from, to) })
	return &sh.lacks
}

// difference is what an app lacks, as far as it concerns the app.
type difference struct {
	routes  []routing.Key
	meids   []string
	limited bool // some routes have entries for some senders only
}

// sweepEvery is how long what nobody uses is kept.
const sweepEvery = 5 * time.Second

func (cs *contents) get(s step) *shared {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.by == nil {
		cs.by = map[step]*shared{}
	}
	sh := cs.by[s]
	if sh == nil {
		sh = &shared{}
		cs.by[s] = sh
	}
	sh.used = time.Now()
	return sh
}

// sweep drops what leads to an older edition, and what was not used lately.
func (cs *contents) sweep(now *edition, at time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for s, sh := range cs.by {
		if s.to != now || at.Sub(sh.used) > sweepEvery {
			delete(cs.by, s)
		}
	}
}

// table returns all of an edition for an app. lost are MEIDs that it may hold
// and that are gone.
func (m *Manager) table(e *edition, name string, control []string, lost map[string]struct{}) *content {
	own := e.senders.own(name, control)
	if len(own) > 0 || len(lost) > 0 {
		m.encoders <- struct{}{} // as many at a time as there are processors
		defer func() { <-m.encoders }()
		return m.encodeTable(e, own, lost)
	}
	sh := m.contents.get(step{nil, e})
	sh.encode.Do(func() { sh.content = m.encodeTable(e, nil, nil) })
	return sh.content
}

// update returns what brings an app from one edition to another.
func (m *Manager) update(from, to *edition, name string, control []string) *content {
	sh := m.contents.get(step{from, to})
	d := sh.difference(from, to)
	own := append(to.senders.own(name, control), from.senders.own(name, control)...)
	if d.limited && len(own) > 0 {
		m.encoders <- struct{}{}
		defer func() { <-m.encoders }()
		return m.encodeUpdate(from, to, d, own)
	}
	sh.encode.Do(func() { sh.content = m.encodeUpdate(from, to, d, nil) })
	return sh.content
}

func differ(from, to *edition) difference {
	d := difference{routes: to.suspects(from), meids: routing.DiffMEIDs(from.state.MEIDs, to.state.MEIDs)}
	for _, s := range []*senders{from.senders, to.senders} {
		d.limited = d.limited || slices.ContainsFunc(d.routes, s.limits)
	}
	return d
}

// maxMessage is the longest text of one message.
const maxMessage = proto.DefaultLimit - 4096

// encoder returns one for a new text. The version in its id comes first, for
// people; the rest tells nodes and texts apart.
func (m *Manager) encoder(e *edition, own []string) *routing.Encoder {
	enc := e.encoder(own, nil)
	enc.ID = fmt.Sprintf("%d.%d.%s", e.version, m.counter.Add(1), m.node)
	enc.Chunk = maxMessage
	if m.cfg.Chunk > 0 {
		enc.Chunk = min(m.cfg.Chunk, maxMessage)
	}
	return enc
}

func (m *Manager) encodeTable(e *edition, own []string, lost map[string]struct{}) *content {
	enc := m.encoder(e, own)
	return newContent(e, enc, true, enc.Full(e.state, gone(e, lost)))
}

func (m *Manager) encodeUpdate(from, to *edition, d *difference, own []string) *content {
	enc := m.encoder(to, own)
	routes := enc.Differing(to.state.Table, from.encoder(own, to), from.state.Table, d.routes)
	return newContent(to, enc, false, enc.Delta(to.state, routing.Changes{Routes: routes, MEIDs: d.meids}))
}

func newContent(e *edition, enc *routing.Encoder, full bool, texts [][]byte) *content {
	c := &content{id: enc.ID, of: e, full: full, texts: texts}
	for _, t := range texts {
		c.size += len(t)
	}
	return c
}

// gone returns the MEIDs that an app has to forget: all that were deleted
// and not every app was told of, and what is lost and did not come back.
func gone(e *edition, lost map[string]struct{}) []string {
	out := e.gone.Since(0)
	for meid := range lost {
		if _, lives := e.state.MEIDs.Owner(meid); !lives {
			out = append(out, meid)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
