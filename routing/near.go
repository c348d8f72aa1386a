package routing

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

const (
	maxNear     = 5 // spellings
	maxDistance = 2 // letters added, left out, replaced or swapped with the next
	maxSpelling = 255
)

// Near returns MEIDs of the map that are spelled almost like an unknown
// one; see the function [Near]. It looks at all MEIDs.
func (m *MEIDMap) Near(meid string) []string {
	return Near(meid, func(yield func(string) bool) {
		for known := range m.All() {
			if !yield(known) {
				return
			}
		}
	})
}

// Near returns those known names, five at most, that are spelled almost like
// an unknown one, the nearest first: those that differ in case or in zeros
// before a number alone (as 0000019b and 00019b do), then those up to two
// letters away, and no more than half of the longer one's letters.
func Near(word string, known iter.Seq[string]) []string {
	type candidate struct {
		distance int
		name     string
	}
	if len(word) > maxSpelling {
		return nil
	}
	var found []candidate
	plain := string(unpadded(nil, word))
	var buf []byte
	for name := range known {
		d := 0
		if buf = unpadded(buf[:0], name); string(buf) != plain {
			d = distance(word, name)
		}
		if d > min(maxDistance, max(len(word), len(name))/2) {
			continue
		}
		found = append(found, candidate{d, name})
		slices.SortFunc(found, func(a, b candidate) int {
			return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name))
		})
		found = found[:min(len(found), maxNear)]
	}
	var list []string
	for _, c := range found {
		list = append(list, c.name)
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

// distance is the number of letters to add, leave out, replace or swap with
// the next, or some number above maxDistance. One of the words is no longer
// than maxSpelling.
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
	return edits(a, b)
}

// edits fills the table of distances of all beginnings row by row, of which
// the last three are kept.
func edits(a, b string) int {
	var rows [3][maxSpelling + maxDistance + 1]uint16
	before, was, now := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range was {
		was[j] = uint16(j)
	}
	for i := range len(a) {
		now[0] = uint16(i + 1)
		least := now[0]
		for j := range len(b) {
			cost := uint16(1)
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(was[j]+cost, was[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
			least = min(least, now[j+1])
		}
		if least > maxDistance {
			return maxDistance + 1
		}
		before, was, now = was, now, before
	}
	return int(was[len(b)])
}
