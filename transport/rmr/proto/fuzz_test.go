package proto

import (
	"bytes"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// FuzzReader: however a stream is cut, the same frames come out, none longer
// than allowed.
func FuzzReader(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.frame)
		f.Add(append(bytes.Clone(v.frame), v.frame...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64 << 10
		whole := NewReader(bytes.NewReader(in), limit)
		cut := NewReader(iotest.HalfReader(bytes.NewReader(in)), limit)
		for {
			a, errA := whole.Next()
			b, errB := cut.Next()
			if !bytes.Equal(a, b) || (errA == nil) != (errB == nil) || len(a) > limit || len(whole.buf) > limit {
				t.Fatalf("%d bytes, %v; %d bytes, %v", len(a), errA, len(b), errB)
			}
			if errA != nil {
				return
			}
		}
	})
}

// FuzzParse: what is read can be written, and is the same when read again.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.frame)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var m, again Message
		if Parse(in, &m) != nil {
			return
		}
		frame, err := Append(nil, &m)
		if err != nil || int64(len(frame)) != m.Size() {
			t.Fatal(len(frame), m.Size(), err)
		}
		if err := Parse(frame, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(view(&m), view(&again)); diff != "" || m.XID != again.XID || m.Flags != again.Flags {
			t.Error(diff)
		}
	})
}

// FuzzControl: acknowledgements and requests survive being written.
func FuzzControl(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.frame[MinFrame+4:])
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if a := ParseAck(in); a.OK && ParseAck(AppendAccepted(nil, a.Text)) != a {
			t.Errorf("%+v became %+v", a, ParseAck(AppendAccepted(nil, a.Text)))
		}
		r, err := ParseTableRequest(in)
		if err != nil {
			return
		}
		if again, err := ParseTableRequest(r.Append(nil)); err != nil || again != r {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}
