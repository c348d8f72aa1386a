package topics

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
)

// Digest is a sum of hashes over records. It depends on what the records
// say and not on the order they came in, so a change costs what it touches,
// and nodes with equal content have equal digests.
type Digest [2]uint64

// Add returns the sum of two digests.
func (d Digest) Add(e Digest) Digest { return d.add(e) }

// String returns the digest as 32 hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }

func (d Digest) add(e Digest) Digest { return Digest{d[0] + e[0], d[1] + e[1]} }
func (d Digest) sub(e Digest) Digest { return Digest{d[0] - e[0], d[1] - e[1]} }

// Digest returns the digest of all topics, links and subscriptions.
func (g *Graph) Digest() Digest { return g.digest }

func hashTopic(t *Topic) Digest {
	return Hash("topic", func(w *RecordWriter) { w.Uint(uint64(t.ID)); w.Text(t.Name) })
}

func hashLink(from *Topic, l Link) Digest {
	return Hash("link", func(w *RecordWriter) {
		w.Uint(uint64(from.ID))
		w.Uint(uint64(l.To))
		w.Uint(uint64(uint32(l.Cost)))
		if l.Remote != nil {
			w.identity(l.Remote.Identity)
			w.Text(string(l.Remote.Proxy))
			w.Text(l.Remote.Cluster)
			w.Uint(uint64(l.Remote.Topic))
			w.messages(l.Remote.Messages)
		}
	})
}

func hashSubscription(t *Topic, s *Subscription) Digest {
	return Hash("subscription", func(w *RecordWriter) {
		w.Uint(uint64(t.ID))
		w.identity(s.Identity)
		w.Text(string(s.Proxy))
		for _, q := range s.QoS {
			w.Text(q.Key)
			w.Text(q.Value)
		}
	})
}

// RecordWriter takes the fields of one record for [Hash]. Every field is
// written with its length, so that no two records run into each other.
type RecordWriter struct{ h hash.Hash }

// Uint adds a number.
func (w *RecordWriter) Uint(v uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	w.h.Write(b[:])
}

// Text adds text or bytes.
func (w *RecordWriter) Text(s string) {
	w.Uint(uint64(len(s)))
	io.WriteString(w.h, s)
}

// messages adds nothing where there are none: links without them keep their digests.
func (w *RecordWriter) messages(m *Messages) {
	if m != nil {
		w.Uint(uint64(uint32(m.MType)))
		w.Uint(uint64(uint32(m.SubID)))
	}
}

func (w *RecordWriter) identity(id Identity) { w.Text(id.Name); w.Text(id.Category) }

// Hash returns the digest of one record of the given kind.
func Hash(kind string, fields func(*RecordWriter)) Digest {
	w := &RecordWriter{h: sha256.New()}
	w.Text(kind)
	fields(w)
	sum := w.h.Sum(nil)
	return Digest{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])}
}
