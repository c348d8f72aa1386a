package logstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
)

// FuzzUnseal: whatever Extensions hold, unsealing never panics, and what it
// accepts seals to the same bytes again.
func FuzzUnseal(f *testing.F) {
	for _, l := range sealLogs(entries(1, 3), 2) {
		f.Add(l.Index, l.Term, l.Data, l.Extensions)
	}
	f.Add(uint64(1), uint64(1), []byte(nil), []byte{trailerVersion})
	f.Add(uint64(1), uint64(1), []byte("x"), make([]byte, trailerSize))
	at := entries(1, 1)[0].AppendedAt
	f.Fuzz(func(t *testing.T, index, term uint64, data, ext []byte) {
		l := raft.Log{Index: index, Term: term, Data: data, Extensions: ext, AppendedAt: at}
		commit, err := unsealLog(&l, index)
		if err != nil {
			return
		}
		if d := cmp.Diff(sealLogs([]*raft.Log{&l}, commit)[0].Extensions, ext); d != "" {
			t.Error(d)
		}
	})
}

// FuzzIdentity: no text makes the decoder panic, and what it accepts is valid text of an identity.
func FuzzIdentity(f *testing.F) {
	id := member
	b, err := encodeSealed(&id)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("{}"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var id, again Identity
		if decodeSealed(b, &id) != nil {
			return
		}
		text, err := encodeSealed(&id)
		if err != nil {
			t.Fatal(err)
		}
		if err := decodeSealed(text, &again); err != nil || again != id {
			t.Errorf("got %+v, %v, want %+v", again, err, id)
		}
	})
}
