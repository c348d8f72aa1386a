package nbi

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"floe/fsm"
	"floe/routing/derive"
)

// items are a set of facts in single parts, so that two sets can be compared
// part by part: which E2Ts there are and who owns each RAN, or who takes part
// in each subscription.
type items map[string]string

// kindOfSet reads and writes one kind of set.
type kindOfSet interface {
	kind() derive.Kind
	// current returns what the state has.
	current(*derive.Facts) items
	// read returns what a manager says, and what of it can't be used.
	read(text []byte) (items, []string, error)
	// change returns the change that makes a set all there is.
	change(items) derive.Change
}

// difference is a part that the state and a manager see differently.
type difference struct {
	ours, theirs string
	has, says    bool // whether there is one at all
}

// comparison is what a manager's earlier answer came to.
type comparison struct {
	first bool // there was none so far
	open  map[string]difference
}

// differences returns all parts that differ.
func differences(ours, theirs items) map[string]difference {
	found := map[string]difference{}
	for key, value := range ours {
		if other, ok := theirs[key]; !ok || other != value {
			found[key] = difference{ours: value, theirs: other, has: true, says: ok}
		}
	}
	for key, value := range theirs {
		if _, ok := ours[key]; !ok {
			found[key] = difference{theirs: value, says: true}
		}
	}
	return found
}

// settle returns the set to go by. The managers call us and note what they
// did afterwards, so an answer may be older than what a call has changed.
// A difference counts once two answers in a row show the same one; only what
// we lack altogether is taken from a first answer, as a fresh cluster should
// not wait.
func (c *comparison) settle(ours items, found map[string]difference) (set items, again bool) {
	set = maps.Clone(ours)
	for key, d := range found {
		switch {
		case !(c.first && !d.has) && c.open[key] != d:
			again = true
		case d.says:
			set[key] = d.theirs
		default:
			delete(set, key)
		}
	}
	return set, again
}

// compared makes a source of a set that the manager's calls change, too.
func (s *Sources) compared(name, url string, set kindOfSet) source {
	c := &comparison{first: true}
	ask := func(ctx context.Context) (bool, error) {
		text, err := s.get(ctx, url)
		if err != nil {
			return false, err
		}
		theirs, unusable, err := set.read(text)
		if err != nil {
			return false, fmt.Errorf("%s: %w", url, err)
		}
		for _, u := range unusable {
			s.log.Debug("left out of a manager's answer", "source", name, "reason", u)
		}
		return s.compare(ctx, c, name, set, theirs)
	}
	return source{name, ask, func() { *c = comparison{first: true} }}
}

func (s *Sources) compare(ctx context.Context, c *comparison, name string, set kindOfSet, theirs items) (bool, error) {
	facts := s.config.Group.View().Routes.Facts
	ours := set.current(facts)
	found := differences(ours, theirs)
	next, again := c.settle(ours, found)
	c.first, c.open = false, found
	if maps.Equal(next, ours) {
		return again, nil
	}
	change := set.change(next)
	change.Base = facts.Mark(set.kind())
	err := s.commit(ctx, name, change)
	if moved(err) {
		return true, nil
	}
	return again, err
}

// moved says that a call changed the set while its manager was asked.
func moved(err error) bool {
	var refusal *fsm.Refusal
	return errors.Is(err, derive.ErrMoved) || errors.As(err, &refusal) && refusal.Kind == fsm.ErrRoutesChanged
}
