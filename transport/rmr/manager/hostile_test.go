package manager

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net"
	"os"
	"strings"
	"testing"

	"floe/transport/rmr/proto"
)

// Frames that kill or jam the library end their own connection here, and
// nothing else.
func TestHostileFrames(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	m := serve(t, g)
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	msg := request("app:4560", "app:4561")
	good, err := proto.Append(nil, &msg)
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]struct {
		at    int
		value uint32
	}{
		"no length": {0, 0}, "2 GiB": {0, 0x7fffffff}, "negative length": {0, 0x80000001},
		"header near 2^32": {50 + 196, 0xffffff9c}, "short header": {50 + 196, 200}, "negative payload": {50 + 4, 0xffffffff}, "payload beyond the frame": {50 + 4, 5000},
	} {
		b := bytes.Clone(good)
		if n.at == 0 {
			binary.LittleEndian.PutUint32(b, n.value)
			binary.BigEndian.PutUint32(b[4:], n.value)
		} else {
			binary.BigEndian.PutUint32(b[n.at:], n.value)
		}
		before := m.Stats().BadInput
		nc := dial(t, m.address)
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: answered", name)
		}
		eventually(t, name+" is counted", func() bool { return m.Stats().BadInput == before+1 })
	}
	g.load(t, "updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	noFaults(t, a)
}

// What an unmodified program sent when it was recorded gets a table.
func TestRecordedRequest(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	m := serve(t, g)
	nc := dial(t, m.address)
	if _, err := nc.Write(recordedFrame(t, "table-request")); err != nil {
		t.Fatal(err)
	}
	table := next(t, nc)
	_, rest, _ := strings.Cut(string(table.Payload), "|start|")
	id, rest, _ := strings.Cut(rest, "\n")
	if table.Type != proto.TypeTable || table.SubID != proto.NoSubID || len(table.Src) != 0 || rest != "mse|100|-1|a:1\nnewrt|end|1\n" {
		t.Fatalf("%+v", table)
	}
	ack := table.Reply(proto.TypeAck, proto.AppendAccepted(nil, id), []byte("app0:45610"), []byte("app0:45610"))
	send(t, nc, ack)
	eventually(t, "it is acknowledged", func() bool {
		list := m.Apps()
		return len(list) == 1 && list[0].Name == "app0:43086" && list[0].VersionAcked == g.View().TableVersion()
	})
}

func next(t *testing.T, nc net.Conn) (m proto.Message) {
	t.Helper()
	frame, err := proto.NewReader(nc, 0).Next()
	if err == nil {
		err = proto.Parse(frame, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// recordedFrame returns the first frame of a recording of package proto.
func recordedFrame(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../proto/testdata/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	var frame []byte
	for line := range strings.Lines(string(b)) {
		if digits, ok := strings.CutPrefix(strings.TrimSpace(line), "A> "); ok {
			part, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			frame = append(frame, part...)
		}
	}
	return frame
}
