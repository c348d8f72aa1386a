package client

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// opener returns what the opener of a captured connection (IceStorm) sent:
// requests and batches. The captures are those of package proto.
func opener(t *testing.T, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile("../proto/testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var messages [][]byte
	for line := range strings.Lines(string(text)) {
		digits, ours := strings.CutPrefix(strings.TrimSpace(line), "C> ")
		if !ours {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		if b[8] <= byte(proto.MessageBatchRequest) {
			messages = append(messages, plain(t, b))
		}
	}
	return messages
}

// plain undoes compression.
func plain(t *testing.T, b []byte) []byte {
	t.Helper()
	if b[9] != proto.CompressionBzip2 {
		return b
	}
	body, err := proto.Decompress(b[proto.HeaderSize:], proto.DefaultMaxSize)
	if err != nil {
		t.Fatal(err)
	}
	out := proto.AppendHeader(nil, proto.Header{Type: proto.MessageType(b[8]), Size: proto.HeaderSize + len(body)})
	return append(out, body...)
}

// parts splits a message into its requests.
func parts(t *testing.T, message []byte) []proto.Request {
	t.Helper()
	body := message[proto.HeaderSize:]
	if message[8] == byte(proto.MessageRequest) {
		var r proto.Request
		if err := proto.ParseRequest(body, &r); err != nil {
			t.Fatal(err)
		}
		return []proto.Request{r}
	}
	batch, err := proto.ParseBatch(body)
	if err != nil {
		t.Fatal(err)
	}
	var list []proto.Request
	for r := (proto.Request{}); batch.Next(&r); {
		list = append(list, r)
	}
	return list
}

func TestDeliveriesEqualIceStorms(t *testing.T) {
	ordered := topics.Setting{Key: "reliability", Value: "ordered"}
	tests := []struct {
		vector string
		mode   proto.ProxyMode
		qos    []topics.Setting
	}{
		{"deliver-oneway", proto.Oneway, nil},
		{"deliver-twoway", proto.Twoway, nil},
		{"deliver-ordered", proto.Twoway, []topics.Setting{ordered}},
		{"deliver-batch", proto.BatchOneway, nil},
		{"deliver-compressed", proto.Oneway, nil}, // we send plain what IceStorm compresses
	}
	for _, test := range tests {
		t.Run(test.vector, func(t *testing.T) {
			want := opener(t, test.vector)
			s := newServer(t)
			st := newStand(t, Config{}, delivery.Config{})
			endpoint := s.endpoint()
			endpoint.Compress = test.vector == "deliver-compressed"
			st.replay(t, want, proxyTo(test.mode, endpoint), test.qos...)
			eventually(t, "all is sent", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.raw) == len(want) })
			s.set(func(s *server) { compare(t, s.raw, want) })
		})
	}
}

// replay subscribes what the messages went to and publishes what they carry.
func (s *stand) replay(t *testing.T, messages [][]byte, p proto.Proxy, qos ...topics.Setting) {
	t.Helper()
	for i, message := range messages {
		for j, r := range parts(t, message) {
			if i+j == 0 {
				p.Identity = r.Identity
				s.group.subscribeAs(topics.Identity(r.Identity), p, qos...)
			}
			ev, err := s.NewEvent(r.Tail)
			if err != nil {
				t.Fatal(err)
			}
			s.Topic("a").Publish(ev, nil)
		}
	}
}

func compare(t *testing.T, got, want [][]byte) {
	t.Helper()
	for i := range want {
		if i >= len(got) || !bytes.Equal(got[i], want[i]) {
			t.Errorf("message %d:\n got %x\nwant %x", i, got[i:min(i+1, len(got))], want[i])
		}
	}
}

func TestDatagramsEqualIceStorms(t *testing.T) {
	tests := []struct {
		vector string
		mode   proto.ProxyMode
	}{{"deliver-datagram", proto.Datagram}, {"deliver-batch-datagram", proto.BatchDatagram}}
	for _, test := range tests {
		t.Run(test.vector, func(t *testing.T) {
			want := opener(t, test.vector)
			socket, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			endpoint := proto.Endpoint{Type: proto.EndpointUDP, Host: "127.0.0.1", Port: int32(socket.LocalAddr().(*net.UDPAddr).Port)}
			st := newStand(t, Config{}, delivery.Config{})
			st.replay(t, want, proxyTo(test.mode, endpoint))
			socket.SetReadDeadline(time.Now().Add(10 * time.Second))
			var got [][]byte
			for range want {
				b := make([]byte, 65536)
				n, _, err := socket.ReadFrom(b)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b[:n])
			}
			compare(t, got, want)
		})
	}
}

// TestForwardEqualsIceStorms replays what IceStorm published over a link to
// a foreign topic: both the question for the link proxy and the forward.
func TestForwardEqualsIceStorms(t *testing.T) {
	want := opener(t, "foreign-link")
	asked, forwarded := parts(t, want[0])[0], parts(t, want[1])[0]
	s := newServer(t)
	s.set(func(s *server) {
		s.result = func(r *proto.Request) []byte {
			if string(r.Operation) != "getLinkProxy" {
				return proto.AppendEmptyEncapsulation(nil, proto.Encoding11)
			}
			p := proto.NewProxy(forwarded.Identity, s.endpoint())
			b, at := proto.BeginEncapsulation(nil, proto.Encoding11)
			return proto.EndEncapsulation(proto.AppendProxy(b, &p, proto.Encoding11), at)
		}
	})
	st := newStand(t, Config{}, delivery.Config{})
	p := proto.NewProxy(asked.Identity, s.endpoint())
	st.group.linkTo(topics.Remote{Identity: topics.Identity(asked.Identity), Proxy: proto.AppendProxy(nil, &p, proto.Encoding11)})
	err := proto.ForEachEvent(forwarded.Encaps, func(e proto.Event) {
		ev, err := delivery.EventFrom(&e)
		if err != nil {
			t.Fatal(err)
		}
		st.Topic("a").Publish(ev, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is sent", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.raw) == len(want) })
	s.set(func(s *server) { compare(t, s.raw, want) })
}
