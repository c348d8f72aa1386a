package proto

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vector is one frame of a file in testdata.
type vector struct {
	name  string // of the file
	side  string // "A": the library, "B": the other side
	frame []byte
}

func vectors(t testing.TB) (out []vector) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) != 17 {
		t.Fatal(len(files), "files of frames", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, parseVectors(t, strings.TrimSuffix(filepath.Base(file), ".hex"), string(b))...)
	}
	return out
}

func parseVectors(t testing.TB, name, text string) (out []vector) {
	t.Helper()
	for part := range strings.SplitSeq(text, "\n\n") {
		v := vector{name: name}
		for line := range strings.Lines(part) {
			side, digits, ok := strings.Cut(strings.TrimSpace(line), "> ")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(name, err)
			}
			v.side, v.frame = side, append(v.frame, b...)
		}
		if len(v.frame) > 0 {
			out = append(out, v)
		}
	}
	return out
}

// vectorsOf returns the frames of one file.
func vectorsOf(t testing.TB, name string) (out []vector) {
	t.Helper()
	for _, v := range vectors(t) {
		if v.name == name {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		t.Fatal("no frames of", name)
	}
	return out
}

// masked zeroes what is undefined in a frame: the rest of the transport
// header, text fields behind their first NUL, and bytes 1 to 3 of data 1.
func masked(frame []byte) []byte {
	f := bytes.Clone(frame)
	clear(f[9:transportHeader])
	h := f[transportHeader:]
	for _, field := range [][]byte{h[sourceAt:meidAt], h[meidAt : meidAt+MaxMEID+1], h[addressAt:HeaderSize]} {
		if end := bytes.IndexByte(field, 0); end >= 0 {
			clear(field[end:])
		}
	}
	data1 := h[HeaderSize+int(h[len1At+3]):]
	clear(data1[1:4])
	return f
}

// Every frame of the library is read, and written again byte by byte except for what is undefined.
func TestVectors(t *testing.T) {
	all := vectors(t)
	if len(all) != 31 {
		t.Errorf("%d frames, want 31", len(all))
	}
	for _, v := range all {
		n, err := ParseFrameLength(v.frame, DefaultLimit)
		if err != nil || n != len(v.frame) {
			t.Errorf("%s %s: length %d, %v, want %d", v.name, v.side, n, err, len(v.frame))
			continue
		}
		var m Message
		if err := Parse(v.frame, &m); err != nil {
			t.Errorf("%s %s: %v", v.name, v.side, err)
			continue
		}
		m.Data1 = append([]byte{}, m.CallID(), 0, 0, 0)
		got, err := Append(nil, &m)
		if err != nil || !bytes.Equal(got, masked(v.frame)) {
			t.Errorf("%s %s: %v %s", v.name, v.side, err, cmp.Diff(masked(v.frame), got))
		}
	}
}

// seen is a message as a test compares it.
type seen struct {
	Type, SubID              int32
	XID, Src, SrcIP, MEID    string
	Call                     bool
	CallID                   byte
	Trace, Payload, Leftover string
}

func view(m *Message) seen {
	return seen{
		Type: m.Type, SubID: m.SubID, XID: strings.TrimRight(string(m.XID[:]), "\x00"),
		Src: string(m.Src), SrcIP: string(m.SrcIP), MEID: string(m.MEID),
		Call: m.IsCall(), CallID: m.CallID(), Trace: string(m.Trace), Payload: string(m.Payload),
		Leftover: string(m.Data2),
	}
}

func TestVectorFields(t *testing.T) {
	tests := []struct {
		name string
		want seen
	}{
		{"message-plain", seen{Type: 200, SubID: 10, XID: "xact-77", Src: "app0:43086", SrcIP: "10.99.0.1:43086", MEID: "meid000", Payload: "hello-world"}},
		{"message-trace", seen{Type: 100, SubID: -1, Src: "app0:43086", SrcIP: "10.99.0.1:43086", Trace: "TRACE-DATA-0123456789-ab", Payload: "with-trace"}},
		{"rts-same-connection", seen{Type: 600, SubID: -1, XID: "rts-2", Payload: "ping2"}},
		{"call-request-reply", seen{Type: 100, SubID: -1, XID: "call-xact-1", Src: "app0:43086", SrcIP: "10.99.0.1:43086", Call: true, CallID: 1, Payload: "question"}},
	}
	for _, tt := range tests {
		var m Message
		if err := Parse(vectorsOf(t, tt.name)[0].frame, &m); err != nil {
			t.Fatal(tt.name, err)
		}
		if diff := cmp.Diff(tt.want, view(&m)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}

// A reply is what the other side answered, byte by byte.
func TestReplyIsTheLibrarys(t *testing.T) {
	for _, name := range []string{"call-request-reply", "rts-reply", "rts-same-connection", "table-push-ok"} {
		both := vectorsOf(t, name)
		var asked, answered Message
		if err := Parse(both[0].frame, &asked); err != nil {
			t.Fatal(err)
		}
		if err := Parse(both[1].frame, &answered); err != nil {
			t.Fatal(err)
		}
		reply := asked.Reply(answered.Type, answered.Payload, answered.Src, answered.SrcIP)
		got, err := Append(nil, &reply)
		if err != nil || !bytes.Equal(masked(got), masked(both[1].frame)) {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(view(&answered), view(&reply)))
		}
	}
}

func TestAcknowledgementsOfTheLibrary(t *testing.T) {
	tests := []struct {
		name, id string
		ok       bool
		write    []byte // what we would write; nil: its text is no reason of ours
	}{
		{"table-push-ok", "rt-1", true, AppendAccepted(nil, "rt-1")},
		{"table-push-err", "rt-2", false, AppendRefused(nil, "rt-2", ReasonCount("9", 1))},
		{"delta-push-ok", "up-1", true, AppendAccepted(nil, "up-1")},
		{"delta-push-err", "up-2", false, nil},
		{"meid-push-ok", "mm-1", true, AppendAccepted(nil, "mm-1")},
		{"meid-push-err", "mm-2", false, nil},
	}
	for _, tt := range tests {
		var m Message
		if err := Parse(vectorsOf(t, tt.name)[1].frame, &m); err != nil {
			t.Fatal(err)
		}
		a := ParseAck(m.Payload)
		if m.Type != TypeAck || a.OK != tt.ok || !a.For(tt.id) || a.For(tt.id[:3]) || a.For(tt.id+"1") {
			t.Errorf("%s: %d %q is %+v", tt.name, m.Type, m.Payload, a)
		}
		if tt.write != nil && !bytes.Equal(tt.write, m.Payload) {
			t.Errorf("%s: wrote %q, want %q", tt.name, tt.write, m.Payload)
		}
	}
}

// A table in progress is dropped by the start of the next.
func TestUnfinishedTableIsRefused(t *testing.T) {
	var acks []Ack
	for _, v := range vectorsOf(t, "table-push-chunked") {
		var m Message
		if err := Parse(v.frame, &m); err != nil {
			t.Fatal(err)
		}
		if v.side == "A" {
			acks = append(acks, ParseAck(m.Payload))
		}
	}
	id, _, _ := strings.Cut(acks[0].Text, " ")
	if len(acks) != 2 || acks[0] != (Ack{false, id + " " + ReasonIncomplete}) || !acks[0].For(id) || !acks[1].OK {
		t.Errorf("%+v", acks)
	}
}

func TestTableRequestOfTheLibrary(t *testing.T) {
	var m Message
	if err := Parse(vectorsOf(t, "table-request")[0].frame, &m); err != nil {
		t.Fatal(err)
	}
	r, err := ParseTableRequest(m.Payload)
	if want := (TableRequest{"app0:43086", 1795986451}); m.Type != TypeRequest || err != nil || r != want {
		t.Errorf("got %+v, %v, want %+v", r, err, want)
	}
	if got := r.Append(nil); !bytes.Equal(got, m.Payload) {
		t.Errorf("wrote %q, want %q", got, m.Payload)
	}
}
