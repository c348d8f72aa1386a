package proto

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func events(t *testing.T, encaps []byte) (list []Event) {
	t.Helper()
	if err := ForEachEvent(encaps, func(e Event) { list = append(list, e) }); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestForwardVector(t *testing.T) {
	for _, name := range []string{"forward-link", "forward-inbound"} {
		r := request(t, name, 0)
		for n := 1; string(r.Operation) != "forward"; n++ {
			r = request(t, name, n)
		}
		list := events(t, r.Encaps)
		if len(list) == 0 || string(list[0].Operation) == "" {
			t.Errorf("%s: %v", name, list)
		}
		got := AppendForward(nil, r.ID, r.Target, r.Context, list)
		want := AppendRequest(nil, &r)
		if !bytes.Equal(got, want) {
			t.Errorf("%s\n got %x\nwant %x", name, got, want)
		}
	}
}

func TestEventTail(t *testing.T) {
	r := testRequest()
	if err := ParseRequest(AppendRequest(nil, &r)[HeaderSize:], &r); err != nil {
		t.Fatal(err)
	}
	e, err := ParseTail(r.Tail)
	if diff := cmp.Diff(EventOf(&r), e); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got := e.AppendTail(nil); !bytes.Equal(got, r.Tail) {
		t.Errorf("\n got %x\nwant %x", got, r.Tail)
	}
	for n := range r.Tail {
		if _, err := ParseTail(r.Tail[:n]); err == nil {
			t.Errorf("a tail of %d of %d bytes is accepted", n, len(r.Tail))
		}
	}
	// Over a link and on to a subscriber the tail stays the same.
	message := AppendForward(nil, 1, r.Target, nil, []Event{e})
	var forward Request
	if err := ParseRequest(message[HeaderSize:], &forward); err != nil {
		t.Fatal(err)
	}
	if got := events(t, forward.Encaps); !bytes.Equal(got[0].AppendTail(nil), r.Tail) {
		t.Errorf("%+v", got)
	}
}

func TestEventWithoutDataHasEmptyParameters(t *testing.T) {
	e := Event{Operation: []byte("o")}
	if got, want := e.AppendTail(nil), "\x01o\x00\x00\x06\x00\x00\x00\x01\x01"; string(got) != want {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestForwardRefusals(t *testing.T) {
	const good = "\x01o\x00\x06\x06\x00\x00\x00\x01\x01\x00"
	for name, text := range map[string]string{
		"2^30 events":          "\xff\x00\x00\x00\x40" + good,
		"one event too few":    "\x02" + good,
		"broken second event":  "\x02" + good + "\x01o\x00\x00",
		"mode 3":               "\x02" + good + "\x01o\x03\x00\x00",
		"data of five bytes":   "\x02" + good + "\x01o\x00\x05\x06\x00\x00\x00\x01\x00",
		"data with wrong size": "\x02" + good + "\x01o\x00\x06\x07\x00\x00\x00\x01\x01\x00",
		"data with more":       "\x02" + good + "\x01o\x00\x07\x06\x00\x00\x00\x01\x01x\x00",
		"something after":      "\x01" + good + "\x1a",
	} {
		encaps, start := BeginEncapsulation(nil, Encoding11)
		encaps = EndEncapsulation(append(encaps, text...), start)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := ForEachEvent(encaps, func(e Event) { t.Errorf("%s: delivers %s", name, e.Operation) })
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("%s: took %d bytes", name, got)
		}
	}
	if err := ForEachEvent([]byte("\x06\x00\x00\x00\x01\x02"), nil); err == nil {
		t.Error("encoding 1.2 is accepted")
	}
}

func TestUnknownModeIsForwardedAsNormal(t *testing.T) {
	for mode, want := range map[byte]byte{0: 0, 1: 1, 2: 2, 3: 0, 7: 0, 255: 0} {
		e := Event{Operation: []byte("o"), Mode: mode}
		if got := AppendEvent(nil, &e); got[2] != want || len(got) != EventSize(&e) {
			t.Errorf("mode %d: %x", mode, got)
		}
	}
}
