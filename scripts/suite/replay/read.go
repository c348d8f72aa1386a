package replay

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
	"floe/scripts/suite/model"
)

// Entry is one entry of a log.
type Entry struct {
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	// Data is a command, nil for an entry of another kind.
	Data []byte `json:"data,omitempty"`
	// Voters are set where it says who the members are.
	Voters []string `json:"voters,omitempty"`
}

// Log is what a run committed.
type Log struct {
	// Node is whose log it is.
	Node string `json:"node"`
	// Base is the state that it goes on from, nil for the beginning.
	Base    *model.Model `json:"base,omitempty"`
	Entries []Entry      `json:"entries"`
	// Applied is the highest index that a node said it had applied.
	Applied uint64 `json:"applied"`
	// Compared counts entries that were held against those of other nodes,
	// Differ says where they are not alike.
	Compared int      `json:"compared"`
	Differ   []string `json:"differ,omitempty"`
}

// Place is where a node's data is, and how far it said it had come.
type Place struct {
	Node, Dir string
	Applied   uint64
}

// Read takes the log of the node that came furthest, and compares it with those
// of the others. No node runs any more.
func Read(places []Place) (*Log, error) {
	var chosen *Log
	others := map[string][]Entry{}
	var failed []error
	for _, p := range places {
		l, err := readOne(p)
		if err != nil {
			failed = append(failed, fmt.Errorf("log of %s: %w", p.Node, err))
			continue
		}
		others[p.Node] = l.Entries
		if chosen == nil || l.Applied > chosen.Applied || l.Applied == chosen.Applied && l.first() < chosen.first() {
			chosen = l
		}
	}
	if chosen == nil {
		return nil, errors.Join(append(failed, errors.New("no node's log can be read"))...)
	}
	for _, p := range places {
		if p.Node != chosen.Node {
			chosen.compare(p, others[p.Node])
		}
	}
	return chosen, nil
}

func (l *Log) first() uint64 {
	if len(l.Entries) == 0 {
		return l.Applied + 1
	}
	return l.Entries[0].Index
}

// compare looks at entries that both nodes applied.
func (l *Log) compare(p Place, theirs []Entry) {
	mine := map[uint64]Entry{}
	for _, e := range l.Entries {
		mine[e.Index] = e
	}
	for _, e := range theirs {
		own, both := mine[e.Index]
		if !both || e.Index > min(p.Applied, l.Applied) {
			continue
		}
		l.Compared++
		if own.Term != e.Term || !bytes.Equal(own.Data, e.Data) {
			l.Differ = append(l.Differ, fmt.Sprintf("index %d: %s and %s hold different entries of terms %d and %d", e.Index, l.Node, p.Node, own.Term, e.Term))
		}
	}
}

func readOne(p Place) (l *Log, err error) {
	store, err := logstore.Open(p.Dir, logstore.Config{Backend: logstore.OpenBoltReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	first, err := store.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := store.LastIndex()
	if err != nil {
		return nil, err
	}
	l = &Log{Node: p.Node, Applied: p.Applied}
	for i := first; i <= last && i != 0; i++ {
		var e raft.Log
		if err := store.GetLog(i, &e); err != nil {
			return nil, err
		}
		l.Entries = append(l.Entries, entry(&e))
	}
	if first != 1 {
		err = l.base(p.Dir)
	}
	return l, err
}

func entry(e *raft.Log) Entry {
	out := Entry{Index: e.Index, Term: e.Term}
	switch e.Type {
	case raft.LogCommand:
		out.Data = bytes.Clone(e.Data)
	case raft.LogConfiguration:
		for _, s := range raft.DecodeConfiguration(e.Data).Servers {
			if s.Suffrage == raft.Voter {
				out.Voters = append(out.Voters, string(s.ID))
			}
		}
	}
	return out
}

// base reads the oldest snapshot that the log goes on from.
func (l *Log) base(dir string) error {
	snaps, err := logstore.OpenSnapshots(dir, nil, nil)
	if err != nil {
		return err
	}
	all, err := snaps.List()
	if err != nil {
		return err
	}
	id := ""
	for _, m := range all { // the newest first
		if m.Index+1 >= l.first() {
			id = m.ID
		}
	}
	if id == "" {
		return errors.New("the log goes on from no snapshot that is there")
	}
	_, from, err := snaps.Open(id)
	if err != nil {
		return err
	}
	state := fsm.New(fsm.Config{})
	if err := state.Restore(from); err != nil {
		return err
	}
	l.Base, err = model.From(state.View())
	return err
}

// String says what a log covers.
func (l *Log) String() string {
	from := "its beginning"
	if l.Base != nil {
		from = fmt.Sprintf("index %d", l.Base.Index)
	}
	return strings.TrimSpace(fmt.Sprintf("log of %s from %s to index %d", l.Node, from, l.Applied))
}
