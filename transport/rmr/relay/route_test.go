package relay_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/transport/rmr"
	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

// vectors returns the frames that the library, or its peer, wrote.
func vectors(t testing.TB, name string) (frames [][]byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../proto/testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n\n") {
		var f []byte
		for line := range strings.Lines(part) {
			if _, digits, ok := strings.Cut(strings.TrimSpace(line), "> "); ok && line[0] != '#' {
				b, err := hex.DecodeString(digits)
				if err != nil {
					t.Fatal(err)
				}
				f = append(f, b...)
			}
		}
		if f != nil {
			frames = append(frames, f)
		}
	}
	return frames
}

// All that the library writes passes through byte by byte.
func TestFramesPassAsTheyCame(t *testing.T) {
	to := rawApp(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 100 | -1 | "+to.name, "mse | 101 | -1 | "+to.name, "mse | 110 | -1 | "+to.name, "mse | 200 | -1 | "+to.name,
		"mse | 300 | -1 | %meid", "mse | 400 | -1 | "+to.name, "mse | 500 | -1 | "+to.name, "mse | 501 | -1 | "+to.name,
		"mse | 600 | -1 | "+to.name, "mse | 601 | -1 | "+to.name, "mme_ar | "+to.name+" | meid001 meid002 meid000")
	nc := dial(t, n.rmr)
	for _, name := range []string{"message-plain", "message-trace", "message-large", "message-meid-route", "call-request-reply", "rts-reply", "rts-same-connection", "alarm"} {
		for i, f := range vectors(t, name) {
			var m proto.Message
			if err := proto.Parse(f, &m); err != nil {
				t.Fatal(err)
			}
			copy(f[13:50], "undefined bytes are left alone, too")
			write(t, nc, f)
			if got := to.next(t); !bytes.Equal(got, f) {
				t.Errorf("%s %d (type %d, MEID %q): other bytes", name, i, m.Type, m.MEID)
			}
		}
	}
	balanced(t, n.Stats())
}

func TestRoutes(t *testing.T) {
	a, toA := app(t)
	b, toB := app(t)
	c, toC := app(t)
	n := start(t, relay.Config{})
	n.load(t,
		"mse | 1 | -1 | "+toA,
		"mse | 1 | 7 | "+toB,
		"mse | 2 | -1 | "+toA+";"+toB+","+toC,
		"mse | 3 | -1 | %meid",
		"mse | 4,limited:1 | -1 | "+toB,
		"mme_ar | "+toC+" | gnb_1")
	sender := appOn(t, rmr.Config{Source: "limited:1"})
	tests := []struct {
		name string
		m    proto.Message
		to   []*rmr.App
	}{
		{"type", text(1, ""), []*rmr.App{a}},
		{"subscription id", proto.Message{Type: 1, SubID: 7}, []*rmr.App{b}},
		{"unknown subscription id", proto.Message{Type: 1, SubID: 8}, []*rmr.App{a}},
		{"two groups", text(2, ""), []*rmr.App{a, b}},
		{"two groups, next turn", text(2, ""), []*rmr.App{a, c}},
		{"two groups, first again", text(2, ""), []*rmr.App{a, b}},
		{"MEID", proto.Message{Type: 3, SubID: -1, MEID: []byte("gnb_1")}, []*rmr.App{c}},
		{"limited to its sender", text(4, ""), []*rmr.App{b}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.m.Payload = []byte(strconv.Itoa(i))
			send(t, sender, n.rmr, tt.m)
			for _, to := range tt.to {
				if r := receive(t, to); string(r.Payload) != strconv.Itoa(i) || string(r.Src) != "limited:1" {
					t.Errorf("got %q from %q", r.Payload, r.Src)
				}
			}
		})
	}
	stranger := appOn(t, rmr.Config{Source: "other:1"})
	for _, m := range []proto.Message{text(4, ""), text(99, ""), text(3, ""), {Type: 3, MEID: []byte("gnb_2")}, text(proto.TypeTable, "newrt|start\n")} {
		send(t, stranger, n.rmr, m)
	}
	eventually(t, "all is counted", func() bool { return n.Stats().Total.Lost() == 5 })
	s := n.Stats()
	if got := s.Total.Dropped; got[relay.NoEntry] != 3 || got[relay.UnknownMEID] != 2 || s.Tables != 1 {
		t.Errorf("dropped %v, %d tables", got, s.Tables)
	}
	balanced(t, s)

	// Messages are counted by route: once, however many copies there are, and
	// over a table that replaces an entry or takes one away.
	want := []relay.RouteStats{{MType: 1, SubID: -1, Messages: 2}, {MType: 1, SubID: 7, Messages: 1}, {MType: 2, SubID: -1, Messages: 3},
		{MType: 3, SubID: -1, Messages: 3}, {MType: 4, SubID: -1, Messages: 1}}
	if d := cmp.Diff(want, s.Routes); d != "" {
		t.Errorf("routes: %s", d)
	}
	n.load(t, "mse | 1 | -1 | "+toB, "mse | 2 | -1 | "+toA)
	send(t, stranger, n.rmr, text(1, "again"))
	if r := receive(t, b); string(r.Payload) != "again" {
		t.Errorf("got %q", r.Payload)
	}
	if d := cmp.Diff([]relay.RouteStats{{MType: 1, SubID: -1, Messages: 3}, {MType: 2, SubID: -1, Messages: 3}}, n.Stats().Routes); d != "" {
		t.Errorf("routes of the next table: %s", d)
	}
}

// Nobody gets its own messages back, whatever name the route has for it.
func TestOwnEndpointIsBarred(t *testing.T) {
	other, to := app(t)
	n := start(t, relay.Config{})
	n.group.apply(fsm.RegisterApp{Name: "app1:4560", Control: []string{"app1:4561", "10.0.0.1:4561", "10.0.0.9:4561"}})
	n.group.apply(fsm.RegisterApp{Name: "app2:4560", Control: []string{"10.0.0.9:4561"}})
	n.load(t, "mse | 1 | -1 | app1:4560,10.0.0.1:4560,10.0.0.2:4560,"+to, "mse | 2 | -1 | 10.0.0.1:4560", "mse | 3 | -1 | %meid", "mme_ar | app1:4560 | gnb_1")
	nc := dial(t, n.rmr)
	const each = 8
	sources := [][2]string{{"app1:4560", "10.0.0.2:4560"}, {"app1:4561", "10.0.0.2:4560"}}
	for _, from := range sources {
		m := proto.Message{Type: 1, SubID: -1, Src: []byte(from[0]), SrcIP: []byte(from[1]), MEID: []byte("gnb_1")}
		for range each {
			write(t, nc, frame(t, m))
			receive(t, other)
		}
		m.Type = 2
		write(t, nc, frame(t, m))
		m.Type = 3
		write(t, nc, frame(t, m))
	}
	eventually(t, "the rest is dropped", func() bool { return n.Stats().Total.Dropped[relay.DeadEndpoint] == 4 })
	if got := n.Stats().Endpoints; len(got) != 1 || got[0].Name != to {
		t.Errorf("endpoints %+v", got)
	}
}

// A route to a node of the cluster would go round for ever.
func TestNodesAreBarred(t *testing.T) {
	a, to := app(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 1 | -1 | "+to+","+n.rmr+","+n.rmrTopics) // before it is one
	n.group.apply(fsm.SetMember{Member: fsm.Member{ID: "n1", Addresses: map[string][]string{"rmr": {n.rmr}, "rmr-topics": {n.rmrTopics}}}})
	n.group.apply(fsm.SetRelay{On: true})
	n.current(t)
	for range 6 {
		if err := n.Send(ptr(text(1, ""))); err != nil {
			t.Fatal(err)
		}
		receive(t, a)
	}
}

func ptr(m proto.Message) *proto.Message { return &m }

// A message for topics goes to one topic of each group, and to nobody else.
func TestTopics(t *testing.T) {
	a, to := app(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 1 | -1 | "+to+";topic:news;topic:left,topic:right", "mse | 5 | -1 | topic:mixed,"+to, "mse | 2 | -1 | "+to, "mse | 3 | -1 | topic:news", "mse | 4 | -1 | %meid", "mme_ar | "+to+" | gnb_1")
	sender := appOn(t, rmr.Config{Source: "sender:1"})

	m := text(1, "hello")
	m.MEID = []byte("gnb_1")
	for range 4 {
		send(t, sender, n.rmrTopics, m)
	}
	for mtype := range int32(5) {
		if mtype != 1 && mtype != 3 { // no entry, and those without a topic
			send(t, sender, n.rmrTopics, proto.Message{Type: mtype, SubID: -1, MEID: []byte("gnb_1")})
		}
	}
	eventually(t, "all are published", func() bool { return n.topics.count("news") == 4 && n.Stats().Total.Lost() == 3 })
	if l, r := n.topics.count("left"), n.topics.count("right"); l != 2 || r != 2 {
		t.Errorf("left %d, right %d", l, r)
	}
	if got := n.topics.got["news"][0]; string(got.Payload) != "hello" || string(got.Src) != "sender:1" || string(got.MEID) != "gnb_1" || got.Type != 1 {
		t.Errorf("published %+v", got)
	}
	if s := n.Stats(); len(s.Endpoints) != 0 || s.Published != 8 {
		t.Errorf("%+v", s)
	}

	// Those for everybody go to topics and endpoints alike.
	for range 3 {
		send(t, sender, n.rmr, m)
	}
	for range 3 {
		receive(t, a)
	}
	eventually(t, "both kinds are served", func() bool {
		return n.topics.count("news") == 7 && n.topics.count("left") == 4 && n.topics.count("right") == 3
	})
	send(t, sender, n.rmrTopics, text(5, "")) // counts no turn here
	for range 2 {
		send(t, sender, n.rmr, text(5, ""))
	}
	receive(t, a)
	eventually(t, "topic and endpoint take turns", func() bool { return n.topics.count("mixed") == 2 })

	// Those made from events go to endpoints alone.
	for range 3 {
		if err := n.Send(&m); err != nil {
			t.Fatal(err)
		}
		if r := receive(t, a); string(r.Src) != n.rmr || string(r.SrcIP) != n.rmr || string(r.MEID) != "gnb_1" {
			t.Errorf("sent %+v", r.Message)
		}
	}
	for mtype, want := range map[int32]relay.Reason{3: relay.NoEntry, 9: relay.NoEntry, 4: relay.UnknownMEID} {
		var lost *relay.Undelivered
		if err := n.Send(ptr(text(mtype, ""))); !errors.As(err, &lost) || lost.Reason != want {
			t.Errorf("type %d: %v", mtype, err)
		}
	}
	var big *proto.SizeError
	if err := n.Send(ptr(proto.Message{Payload: make([]byte, 17<<20)})); !errors.As(err, &big) {
		t.Errorf("too large: %v", err)
	}
	if got := n.topics.count("news"); got != 7 {
		t.Errorf("%d published", got)
	}
	balanced(t, n.Stats())
}

// Reasons have names of their own.
func TestReasons(t *testing.T) {
	var names []string
	for _, r := range relay.Reasons() {
		names = append(names, r.String())
	}
	slices.Sort(names)
	if got := strings.Join(slices.Compact(names), " "); got != "dead_endpoint no_entry no_sender not_allowed queue_full stopped unknown_meid" {
		t.Error(got)
	}
}
