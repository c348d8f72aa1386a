package routing

// Sender is who sent a message, under all the names an entry may be limited
// to: each is compared whole and byte by byte, empty ones match nothing.
type Sender struct {
	Source  string // src of the header: host name or RMR_SRC_ID, and port
	Address string // srcip of the header: address and port
	Name    string // the name it is registered under, if it is another
}

func (s Sender) is(item string) bool {
	return item != "" && (item == s.Source || item == s.Address || item == s.Name)
}

// Lookup returns the entry that a message goes by: that of its type and
// subscription id, else that of its type alone, nil if there is neither. An
// entry that is there but has no endpoint left for this sender is not passed
// over for the one of the type alone (section 3.5 of the library's rules).
func (t *Table) Lookup(mtype, subID int32, s Sender) *Entry {
	if t == nil {
		return nil
	}
	if e := t.find(Key{mtype, subID}, s); e != nil || subID == AnySubID {
		return e
	}
	return t.find(Key{mtype, AnySubID}, s)
}

// find returns the entry of exactly that key which holds for a sender.
func (t *Table) find(key Key, s Sender) *Entry {
	r := t.route(key.packed())
	if r == nil {
		return nil
	}
	for i := len(r.entries) - 1; i >= 0; i-- {
		if e := r.entries[i]; e.For(s) {
			return e.visible()
		}
	}
	return nil
}

func (e *Entry) visible() *Entry {
	if e.Hidden {
		return nil
	}
	return e
}
