package manager

import (
	"maps"
	"net"
	"slices"

	"floe/fsm"
	"floe/routing"
)

// senders are those that entries are limited to, and which of them are apps
// we know: an entry for other apps alone is no use to an app. A sender that
// is no app we know may be anybody's: programs know addresses of their own that we
// don't.
type senders struct {
	table *routing.Table
	apps  []fsm.App
	keys  []routing.Key   // of entries limited to senders
	all   map[string]bool // senders of entries
	known map[string]bool // those that are name or address of an app
}

func newSenders(table *routing.Table, apps []fsm.App) *senders {
	s := &senders{table: table, all: map[string]bool{}}
	for e := range table.All() {
		if e.General() {
			continue
		}
		if n := len(s.keys); n == 0 || s.keys[n-1] != e.Key {
			s.keys = append(s.keys, e.Key)
		}
		for _, name := range e.Senders {
			s.all[name] = true
		}
	}
	s.know(apps)
	return s
}

func (s *senders) know(apps []fsm.App) {
	s.apps, s.known = apps, map[string]bool{}
	if len(s.all) == 0 {
		return
	}
	for _, a := range apps {
		for _, name := range s.own(a.Name, a.Control) {
			s.known[name] = true
		}
	}
}

// after returns the senders of a later state, s itself if they are the same.
func (s *senders) after(table *routing.Table, apps []fsm.App) *senders {
	if table != s.table {
		return newSenders(table, apps)
	}
	if sameSlice(apps, s.apps) {
		return s
	}
	next := &senders{table: table, keys: s.keys, all: s.all}
	next.know(apps)
	if maps.Equal(next.known, s.known) {
		return s
	}
	return next
}

// lacks tells whether an app of old is not known any more.
func (s *senders) lacks(old *senders) bool {
	for name := range old.known {
		if !s.known[name] {
			return true
		}
	}
	return false
}

// own returns the senders that are an app: its name, and its addresses with
// the port of its name.
func (s *senders) own(name string, control []string) []string {
	if len(s.all) == 0 {
		return nil
	}
	var out []string
	add := func(sender string) {
		if s.all[sender] {
			out = append(out, sender)
		}
	}
	add(name)
	_, port, err := net.SplitHostPort(name)
	if err != nil {
		return out
	}
	for _, c := range control {
		if host, _, err := net.SplitHostPort(c); err == nil {
			add(net.JoinHostPort(host, port))
		}
	}
	return out
}

// limits tells whether a key has entries limited to senders.
func (s *senders) limits(key routing.Key) bool {
	_, found := slices.BinarySearchFunc(s.keys, key, routing.Key.Compare)
	return found
}
