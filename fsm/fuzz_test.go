package fsm_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"floe/fsm"
)

// FuzzRestore reads what somebody sealed with a good checksum: a state, or an error that leaves the old one.
func FuzzRestore(f *testing.F) {
	for _, n := range goldenSnapshots() {
		b := snapshotOf(f, n.State)
		f.Add(b[:len(b)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		s := graphNode().State
		before := s.View()
		err := s.Restore(io.NopCloser(bytes.NewReader(append(bytes.Clone(body), sum[:]...))))
		if err != nil {
			if !errors.Is(err, fsm.ErrSnapshot) || s.View() != before {
				t.Fatalf("%v, state changed: %t", err, s.View() != before)
			}
			return
		}
		once := snapshotOf(t, s)
		if again := snapshotOf(t, restored(t, once).State); !bytes.Equal(once, again) {
			t.Fatal("written and read once more, it is another state")
		}
	})
}
