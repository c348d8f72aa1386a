package client

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// noter notes what becomes of its entries.
type noter struct {
	source
	sent, unsent int
}

func (n *noter) written(e []entry)   { n.sent += len(e) }
func (n *noter) unwritten(e []entry) { n.unsent += len(e) }

// TestSettle: a message counts as written when its last byte was.
func TestSettle(t *testing.T) {
	tests := []struct {
		wrote int
		want  [4]int // sent and unsent of the first source, then of the second
	}{
		{0, [4]int{0, 2, 0, 1}}, {99, [4]int{0, 2, 0, 1}}, {100, [4]int{1, 1, 0, 1}}, {199, [4]int{1, 1, 0, 1}},
		{200, [4]int{2, 0, 0, 1}}, {299, [4]int{2, 0, 0, 1}}, {300, [4]int{2, 0, 1, 0}},
	}
	for _, test := range tests {
		first, second := new(noter), new(noter)
		b := &batch{
			entries: []entry{{end: 100}, {end: 200}, {end: 300}},
			parts:   []part{{source: first, from: 0, to: 2}, {source: second, from: 2, to: 3}},
		}
		b.settle(test.wrote)
		if diff := cmp.Diff([4]int{first.sent, first.unsent, second.sent, second.unsent}, test.want); diff != "" {
			t.Errorf("%d bytes written: got (-) want (+):\n%s", test.wrote, diff)
		}
	}
}

// TestBatchBytes: whether tails are copied or written from where they are,
// the same bytes leave.
func TestBatchBytes(t *testing.T) {
	target := proto.AppendTarget(nil, proto.Identity{Name: "s"}, "")
	b := &batch{}
	var want []byte
	for i, size := range []int{1, largeTail + 5, 10, 20, largeTail, largeTail - 1} {
		ev := &delivery.Event{Tail: bytes.Repeat([]byte{byte(i + 1)}, size)}
		b.request(int32(i), target, ev)
		want = append(proto.AppendRequestPrefix(want, int32(i), target, size), ev.Tail...)
		if b.size != len(want) || b.entries[i].end != len(want) {
			t.Errorf("event %d: size %d, end %d, want %d", i, b.size, b.entries[i].end, len(want))
		}
	}
	// The same events as one BatchRequest.
	var start int
	want, start = proto.BeginBatch(want)
	for _, e := range b.entries {
		b.events = append(b.events, e.event)
		want = append(append(want, target...), e.event.Tail...)
	}
	want = proto.EndBatch(want, start, len(b.events), 0)
	b.batchRequest(target)
	if last := b.entries[len(b.entries)-1]; b.size != len(want) || last.end != len(want) {
		t.Errorf("batch: size %d, end %d, want %d", b.size, last.end, len(want))
	}
	var got []byte
	for _, piece := range b.slices() {
		got = append(got, piece...)
	}
	if !bytes.Equal(got, want) || !bytes.Equal(b.whole(), want) {
		t.Error("other bytes than wanted")
	}
}
