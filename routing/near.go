package routing

import (
	"slices"
	"strings"
)

const (
	maxNear     = 5 // spellings
	maxDistance = 2 // letters added, left out or replaced
)

// Near returns MEIDs of the map that are spelled almost like an unknown
// one, the nearest first: those that differ in case or in zeros before a
// number alone (as 0000019b and 00019b do), then those up to two letters
// away. It looks at all MEIDs.
func (m *MEIDMap) Near(meid string) []string {
	type candidate struct {
		distance int
		meid     string
	}
	if m == nil || len(meid) > 4*MaxMEID {
		return nil
	}
	var found []candidate
	plain := string(unpadded(nil, meid))
	var buf []byte
	for known := range m.All() {
		d := 0
		if buf = unpadded(buf[:0], known); string(buf) != plain {
			d = distance(meid, known)
		}
		if d > maxDistance {
			continue
		}
		found = append(found, candidate{d, known})
		slices.SortFunc(found, func(a, b candidate) int {
			if a.distance != b.distance {
				return a.distance - b.distance
			}
			return strings.Compare(a.meid, b.meid)
		})
		found = found[:min(len(found), maxNear)]
	}
	var list []string
	for _, c := range found {
		list = append(list, c.meid)
	}
	return list
}

// unpadded appends an MEID in lower case, its parts without leading zeros.
func unpadded(b []byte, meid string) []byte {
	start := true // of a part
	for i := range len(meid) {
		c := meid[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
		if start && c == '0' && i+1 < len(meid) && isAlnum(meid[i+1]) {
			continue
		}
		start = !word
		b = append(b, c)
	}
	return b
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// distance is the number of letters to add, leave out or replace, or some
// number above maxDistance.
func distance(a, b string) int {
	if len(a)-len(b) > maxDistance || len(b)-len(a) > maxDistance {
		return maxDistance + 1
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return levenshtein(a, b)
}

func levenshtein(a, b string) int {
	var rows [2][4*MaxMEID + 2]int
	was, now := rows[0][:len(b)+1], rows[1][:len(b)+1]
	for j := range was {
		was[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		least := now[0]
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(was[j]+cost, was[j+1]+1, now[j]+1)
			least = min(least, now[j+1])
		}
		if least > maxDistance {
			return maxDistance + 1
		}
		was, now = now, was
	}
	return was[len(b)]
}
