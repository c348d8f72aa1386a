package routing

import "slices"

// Entry says where messages of one key go, for everybody or for some
// senders. An entry of a table never changes: share it, and keep it as long
// as needed. Two entries of different versions of a table are the same
// pointer if the change between them did not touch the entry.
type Entry struct {
	Key     Key
	Senders []string   // whose messages it is for, none for everybody's
	ByMEID  bool       // the owner of the message's MEID gets it
	Groups  [][]string // otherwise: each group gets a copy, its members take turns
	// Hidden marks that Senders have no entry here, whatever stands before
	// it: what is left of a del record limited to senders.
	Hidden bool

	digest Digest
}

// sealed returns the entry with its digest, after which it does not change.
func (e *Entry) sealed() *Entry {
	e.digest = hashEntry(e)
	return e
}

// General says whether the entry is for every sender.
func (e *Entry) General() bool { return len(e.Senders) == 0 }

// For says whether the entry is for messages of that sender.
func (e *Entry) For(s Sender) bool {
	if len(e.Senders) == 0 {
		return true
	}
	for _, item := range e.Senders {
		if s.is(item) {
			return true
		}
	}
	return false
}

// Equal says whether two entries say the same.
func (e *Entry) Equal(o *Entry) bool {
	return e == o || e.Key == o.Key && e.ByMEID == o.ByMEID && e.Hidden == o.Hidden &&
		slices.Equal(e.Senders, o.Senders) && slices.EqualFunc(e.Groups, o.Groups, slices.Equal[[]string])
}

func equalEntries(a, b []*Entry) bool { return slices.EqualFunc(a, b, (*Entry).Equal) }

// sameSenders says whether two lists name the same senders in any order.
func sameSenders(a, b []string) bool {
	return slices.Equal(a, b) || contains(a, b) && contains(b, a)
}

func contains(a, b []string) bool {
	for _, s := range b {
		if !slices.Contains(a, s) {
			return false
		}
	}
	return true
}

// with returns the entries of one key after e was added. The last one that
// is for a sender holds for it, as for a program that reads the records in
// order; so a later entry for the same senders replaces the earlier one, and
// one for everybody leaves nothing to hide.
func with(entries []*Entry, e *Entry) []*Entry {
	next := make([]*Entry, 0, len(entries)+1)
	for _, old := range entries {
		if sameSenders(old.Senders, e.Senders) || old.Hidden && e.General() {
			continue
		}
		next = append(next, old)
	}
	return unhidden(append(next, e))
}

// without returns the entries of one key after a del record for senders.
// For a sender it removes whatever entry that sender had, be it for
// everybody or not (trash_entry in the library's rt_generic_static.c).
func without(entries []*Entry, key Key, senders []string) []*Entry {
	if len(senders) == 0 {
		return nil
	}
	hidden := &Entry{Key: key, Senders: senders, Hidden: true}
	return with(entries, hidden.sealed())
}

// unhidden drops the leading entries that hide nothing.
func unhidden(entries []*Entry) []*Entry {
	for len(entries) > 0 && entries[0].Hidden {
		entries = entries[1:]
	}
	return entries
}
