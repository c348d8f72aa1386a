package routing

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Digest is a sum of hashes over records. It depends on what they say and
// not on the order they came in, so a change costs what it touches, and
// nodes with equal content have equal digests.
type Digest [2]uint64

// Add returns the sum of two digests.
func (d Digest) Add(e Digest) Digest { return Digest{d[0] + e[0], d[1] + e[1]} }

// Sub returns the digest that, added to e, gives d.
func (d Digest) Sub(e Digest) Digest { return Digest{d[0] - e[0], d[1] - e[1]} }

// String returns the digest as 32 hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }

func sum(record []byte) Digest {
	h := sha256.Sum256(record)
	return Digest{binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])}
}

// appendText writes a text with its length, so that no two records run into
// each other.
func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func hashMEID(meid, owner string) Digest {
	var buf [128]byte
	b := append(buf[:0], "meid"...)
	return sum(appendText(appendText(b, meid), owner))
}

func hashTombstone(meid string, index uint64) Digest {
	var buf [128]byte
	b := append(buf[:0], "gone"...)
	return sum(binary.BigEndian.AppendUint64(appendText(b, meid), index))
}

func hashEntry(e *Entry) Digest {
	var buf [512]byte
	return sum(appendEntry(append(buf[:0], "route"...), e))
}

// digestOf is the digest of all entries of one key; their order counts.
func digestOf(entries []*Entry) Digest {
	if len(entries) == 1 {
		return entries[0].digest
	}
	b := []byte("routes")
	for _, e := range entries {
		b = binary.BigEndian.AppendUint64(b, e.digest[0])
		b = binary.BigEndian.AppendUint64(b, e.digest[1])
	}
	return sum(b)
}

func appendEntry(b []byte, e *Entry) []byte {
	b = binary.BigEndian.AppendUint64(b, e.Key.packed())
	flags := byte(0)
	if e.ByMEID {
		flags |= 1
	}
	if e.Hidden {
		flags |= 2
	}
	b = appendList(append(b, flags), e.Senders)
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Groups)))
	for _, g := range e.Groups {
		b = appendList(b, g)
	}
	return b
}

func appendList(b []byte, list []string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}
