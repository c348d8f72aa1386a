package routing

import (
	"maps"
	"slices"
	"strconv"
)

// AppendText appends the state as text that loads as it stands. The text is
// canonical: equal states give equal bytes, however they came about. Entries
// are ordered by key, those of a key in the order they hold; MEIDs are
// ordered by owner, then by name. It contains no id, version or time.
func (s State) AppendText(b []byte) []byte {
	b = append(b, "newrt|start\n"...)
	for e := range s.Table.All() {
		b = appendRecord(b, e, e.ByMEID, e.Groups)
	}
	b = appendEnd(b, FullTable, s.Table.Len())
	b = append(b, "meid_map|start\n"...)
	b, n := appendMap(b, s.MEIDs, s.MEIDs.sorted(), func([]byte) []byte { return nil })
	return appendEnd(b, MapUpdate, n)
}

// String returns the entry as the record that makes it.
func (e *Entry) String() string {
	b := appendRecord(nil, e, e.ByMEID, e.Groups)
	return string(b[:len(b)-1])
}

func appendStart(b []byte, k Kind, id string) []byte {
	b = append(append(b, k.String()...), "|start|"...)
	return append(append(b, id...), '\n')
}

func appendEnd(b []byte, k Kind, count int) []byte {
	b = append(append(b, k.String()...), "|end|"...)
	return append(strconv.AppendInt(b, int64(count), 10), '\n')
}

// appendRecord writes an entry with the groups given in place of its own.
func appendRecord(b []byte, e *Entry, byMEID bool, groups [][]string) []byte {
	if e.Hidden {
		return appendDel(b, e.Key, e.Senders)
	}
	b = appendKey(append(b, "mse|"...), e.Key, e.Senders)
	b = append(b, '|')
	if byMEID {
		return append(b, marker+"\n"...)
	}
	for i, g := range groups {
		if i > 0 {
			b = append(b, ';')
		}
		for j, m := range g {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, m...)
		}
	}
	return append(b, '\n')
}

func appendDel(b []byte, k Key, senders []string) []byte {
	return append(appendKey(append(b, "del|"...), k, senders), '\n')
}

func appendKey(b []byte, k Key, senders []string) []byte {
	b = strconv.AppendInt(b, int64(k.MType), 10)
	for _, s := range senders {
		b = append(append(b, ','), s...)
	}
	return strconv.AppendInt(append(b, '|'), int64(k.SubID), 10)
}

// appendMap writes the MEIDs of slots, owner by owner, and returns the
// number of records. cut is called after each record with all that was
// written; if it returns something, writing goes on there.
func appendMap(b []byte, m *MEIDMap, slots []slot[uint32], cut func([]byte) []byte) ([]byte, int) {
	if len(slots) == 0 {
		return b, 0
	}
	of := make([][]*meidKey, len(m.owners.names))
	for i := range slots {
		id := slots[i].value
		of[id] = append(of[id], &slots[i].key)
	}
	records := 0
	for _, owner := range slices.Sorted(maps.Keys(m.owners.index)) {
		for some := range slices.Chunk(of[m.owners.index[owner]], MaxRecordMEIDs) {
			b = append(append(append(b, "mme_ar|"...), owner...), '|')
			for i, k := range some {
				if i > 0 {
					b = append(b, ' ')
				}
				b = append(b, k[:k[MaxMEID]]...)
			}
			b = append(b, '\n')
			if next := cut(b); next != nil {
				b = next
			}
			records++
		}
	}
	return b, records
}
