package proto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plain is a frame with a 4 byte data 1 and an 11 byte payload, 345 in all.
func plain(t testing.TB) []byte {
	t.Helper()
	return bytes.Clone(vectorsOf(t, "message-plain")[0].frame)
}

// with returns the frame with a big-endian number in its message header.
func with(frame []byte, at int, n uint32) []byte {
	frame = bytes.Clone(frame)
	binary.BigEndian.PutUint32(frame[transportHeader+at:], n)
	return frame
}

// Lengths that kill the library, hang it or show its memory are refused.
func TestParseRefuses(t *testing.T) {
	f := plain(t)
	tests := []struct {
		name, field string // "": accepted
		frame       []byte
	}{
		{"as it is", "", f},
		{"header under 280", "header", with(f, len0At, 279)},
		{"no header", "header", with(f, len0At, 0)},
		{"header longer than the frame", "parts", with(f, len0At, 300)},
		{"header whose sum wraps in 32 bits", "parts", with(f, len0At, 0xffffffff-10)},
		{"trace of 4 GiB", "parts", with(f, len1At, 0xffffffff)},
		{"data 1 too long", "parts", with(f, len2At, 16)},
		{"data 2 too long", "parts", with(f, len3At, 12)},
		{"all at once", "parts", with(with(with(f, len1At, 0xfffffff0), len2At, 0xfffffff0), len3At, 0xfffffff0)},
		{"payload longer than the frame", "payload", with(f, lengthAt, 12)},
		{"negative payload", "payload", with(f, lengthAt, 0x80000000)},
		{"payload shorter than the rest", "", with(f, lengthAt, 5)},
		{"no data 1", "", with(f, len2At, 0)},
		{"version 0", "", with(f, versionAt, 0)},
		{"version 99", "", with(f, versionAt, 99)},
		{"short frame", "frame", f[:MinFrame-1]},
		{"nothing", "frame", nil},
	}
	for _, tt := range tests {
		var m Message
		err := Parse(tt.frame, &m)
		var bad *HeaderError
		got := ""
		if errors.As(err, &bad) {
			got = bad.Field
		}
		if got != tt.field || (err != nil) != errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.field)
		}
	}
}

// Parts of other sizes than the library's are found where the header says.
func TestParseFollowsLengths(t *testing.T) {
	m := Message{Type: 7, Trace: []byte("tr"), Data1: []byte("\x05data-one"), Data2: []byte("d2"), Payload: []byte("hello")}
	frame, err := Append(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	longer := append(append(bytes.Clone(frame[:MinFrame]), "12345678"...), frame[MinFrame:]...)
	for _, f := range [][]byte{frame, with(longer, len0At, HeaderSize+8)} {
		var got Message
		if err := Parse(f, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(view(&m), view(&got)); diff != "" || string(got.Data1) != "\x05data-one" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// Texts end at the first NUL, or before the last byte of their field.
func TestParseCutsTexts(t *testing.T) {
	f := plain(t)
	h := f[transportHeader:]
	copy(h[sourceAt:], strings.Repeat("s", 64))
	copy(h[meidAt:], strings.Repeat("m", 32))
	copy(h[addressAt:], "a\x00b")
	var m Message
	if err := Parse(f, &m); err != nil {
		t.Fatal(err)
	}
	if string(m.Src) != strings.Repeat("s", 63) || string(m.MEID) != strings.Repeat("m", 31) || string(m.SrcIP) != "a" {
		t.Errorf("source %q, MEID %q, address %q", m.Src, m.MEID, m.SrcIP)
	}
	if _, err := Append(nil, &m); err != nil {
		t.Error("what was read can't be written:", err)
	}
}

func TestAppendRefuses(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 64)
	tests := []struct {
		name, field string
		m           Message
	}{
		{"longest source", "", Message{Src: long[:63], SrcIP: long[:63], MEID: long[:31]}},
		{"source", "source", Message{Src: long}},
		{"address", "source address", Message{SrcIP: long}},
		{"MEID", "MEID", Message{MEID: long[:32]}},
		{"NUL", "MEID", Message{MEID: []byte("a\x00b")}},
	}
	for _, tt := range tests {
		_, err := Append(nil, &tt.m)
		var bad *TextError
		got := ""
		if errors.As(err, &bad) {
			got = bad.Field
		}
		if got != tt.field || (err != nil) != (tt.field != "") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.field)
		}
	}
}

// An ordinary message always has the four bytes of data 1, all zero.
func TestAppendAlwaysHasData1(t *testing.T) {
	m := NewCall(2)
	m.ClearCall()
	m.Payload = []byte("p")
	frame, err := Append([]byte("before"), &m)
	if err != nil || !strings.HasPrefix(string(frame), "before") {
		t.Fatal(err)
	}
	frame = frame[len("before"):]
	if got := frame[MinFrame:]; string(got) != "\x00\x00\x00\x00p" || frame[transportHeader+len2At+3] != 4 {
		t.Errorf("after the header: %q", got)
	}
}

func TestCalls(t *testing.T) {
	call := NewCall(2)
	call.XID[31] = 9
	reply := call.Reply(101, []byte("yes"), []byte("me:1"), nil)
	if !call.IsCall() || call.CallID() != 2 || call.SubID != NoSubID {
		t.Errorf("call: %+v", call)
	}
	if reply.IsCall() || reply.CallID() != 2 || reply.XID != call.XID || string(reply.Src) != "me:1" || reply.Type != 101 {
		t.Errorf("reply: %+v", reply)
	}
	call.ClearCall()
	if call.IsCall() || call.CallID() != 0 {
		t.Errorf("cleared: %+v", call)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	frame := plain(t)
	var m Message
	if err := Parse(frame, &m); err != nil {
		t.Fatal(err)
	}
	c := m.Clone()
	want := view(&m)
	clear(frame)
	if diff := cmp.Diff(want, view(&c)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSourceTooLong(t *testing.T) {
	m := Message{Src: bytes.Repeat([]byte("s"), MaxSource), SrcIP: bytes.Repeat([]byte("i"), MaxSource)}
	frame, err := Append(nil, &m)
	if err != nil || SourceTooLong(frame) {
		t.Fatalf("%v, or the longest source is too long", err)
	}
	for _, at := range []int{sourceAt, addressAt} {
		long := bytes.Clone(frame)
		long[transportHeader+at+MaxSource] = 'x'
		if !SourceTooLong(long) {
			t.Errorf("64 bytes at %d are not too long", at)
		}
	}
}
