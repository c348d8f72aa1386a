package proto

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testRequest() Request {
	return Request{
		ID: 7, Identity: Identity{"clock.publish", "IceStorm"}, Facet: "f", Operation: []byte("tick"), Mode: ModeIdempotent,
		Context: NewContext(map[string]string{"cost": "5", "user": "joe"}), Encaps: []byte("\x08\x00\x00\x00\x02\x02ab"),
	}
}

func TestRequestRoundTrip(t *testing.T) {
	want := testRequest()
	message := AppendRequest(nil, &want)
	want.Target = AppendTarget(nil, want.Identity, want.Facet)
	want.Tail = message[len(message)-len(want.Encaps)-len(want.Context)-6:]
	var got Request
	if err := ParseRequest(message[HeaderSize:], &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := append(AppendRequestPrefix(nil, got.ID, got.Target, len(got.Tail)), got.Tail...)
	if !bytes.Equal(again, message) {
		t.Errorf("prefix and tail\n got %x\nwant %x", again, message)
	}
}

// A request cut before its encapsulation is a broken header, which ends the
// connection; a cut inside can be answered.
func TestRequestCuts(t *testing.T) {
	r := testRequest()
	body := AppendRequest(nil, &r)[HeaderSize:]
	for n := range body {
		want := ErrProtocol
		if n >= len(body)-len(r.Encaps) {
			want = ErrEncapsulation
		}
		got := Request{Encaps: []byte("old"), Tail: []byte("old")}
		err := ParseRequest(body[:n], &got)
		if got.Encaps != nil || got.Tail != nil {
			t.Errorf("%d bytes: keeps an old encapsulation", n)
		}
		if !errors.Is(err, want) || errors.Is(err, ErrProtocol) == errors.Is(err, ErrEncapsulation) {
			t.Errorf("%d of %d bytes: %v, want %v", n, len(body), err, want)
		}
		if want == ErrEncapsulation && (got.ID != 7 || string(got.Operation) != "tick" || got.Identity != r.Identity) {
			t.Errorf("%d bytes: %+v is not filled", n, got)
		}
	}
}

func TestParseRequestReusesNames(t *testing.T) {
	r := testRequest()
	body := AppendRequest(nil, &r)[HeaderSize:]
	var got Request
	if allocs := testing.AllocsPerRun(100, func() {
		if err := ParseRequest(body, &got); err != nil {
			t.Fatal(err)
		}
		if v, ok := got.Context.Lookup("user"); !ok || string(v) != "joe" {
			t.Fatalf("user is %q", v)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
	other := Request{Identity: Identity{Name: "x"}}
	if err := ParseRequest(AppendRequest(nil, &other)[HeaderSize:], &got); err != nil {
		t.Fatal(err)
	}
	if got.Identity != other.Identity || got.Facet != "" || got.Context.Len() != 0 || !got.Oneway() {
		t.Errorf("%+v keeps parts of the request before", got)
	}
}

func TestContext(t *testing.T) {
	r := request(t, "raw-bigctx", 0)
	if v, ok := r.Context.Lookup("a"); !ok || string(v) != "1" {
		t.Errorf("a is %q, want the first of two values", v)
	}
	if v, ok := r.Context.Lookup("b"); ok {
		t.Errorf("b is %q", v)
	}
	var got []string
	for k, v := range r.Context.All() {
		got = append(got, string(k)+"="+string(v))
	}
	if diff := cmp.Diff([]string{"a=1", "a=2"}, got); diff != "" || r.Context.Len() != 2 {
		t.Errorf("%d entries (-want +got):\n%s", r.Context.Len(), diff)
	}
	for range r.Context.All() {
		break
	}
	var none Context
	if _, ok := none.Lookup(""); ok || none.Len() != 0 {
		t.Error("nil has entries")
	}
	for k := range none.All() {
		t.Errorf("nil has %q", k)
	}
	if got := AppendContext(nil, nil); string(got) != "\x00" {
		t.Errorf("nil is written as %x", got)
	}
}

func TestBatch(t *testing.T) {
	r := testRequest()
	target := AppendTarget(nil, r.Identity, "")
	tail := AppendTail(nil, "op", ModeNormal, nil, AppendEmptyEncapsulation(nil, Encoding11))
	tests := []struct {
		name    string
		count   int
		entries [][]byte
		want    int
		ok      bool
	}{
		{"empty", 0, nil, 0, true},
		{"two", 2, [][]byte{tail, tail}, 2, true},
		{"fewer announced than sent", 1, [][]byte{tail, tail}, 1, true},
		{"more announced than sent", 3, [][]byte{tail, tail}, 2, false},
		{"2^31-1 announced", 1<<31 - 1, [][]byte{tail}, 1, false},
		{"cut encapsulation", 2, [][]byte{tail, tail[:len(tail)-1]}, 1, false},
		{"cut header", 2, [][]byte{tail, tail[:2]}, 1, false},
	}
	for _, tt := range tests {
		message, start := BeginBatch([]byte("x"))
		for _, e := range tt.entries {
			message = append(append(message, target...), e...)
		}
		message = EndBatch(message, start, tt.count, 0)
		b, err := ParseBatch(message[start+HeaderSize:])
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for in := (Request{ID: 5}); b.Next(&in); got++ {
			if in.ID != 0 || string(in.Operation) != "op" || !bytes.Equal(in.Tail, tail) {
				t.Errorf("%s: entry %+v", tt.name, in)
			}
		}
		if got != tt.want || (b.Err() == nil) != tt.ok || (b.Err() != nil && !errors.Is(b.Err(), ErrProtocol)) {
			t.Errorf("%s: %d entries, %v", tt.name, got, b.Err())
		}
	}
	for _, body := range []string{"", "\x01\x00\x00", "\xff\xff\xff\xff"} {
		if _, err := ParseBatch([]byte(body)); !errors.Is(err, ErrProtocol) {
			t.Errorf("body %x: %v", body, err)
		}
	}
}
