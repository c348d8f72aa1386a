package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
	"floe/transport/native"
	rmr "floe/transport/rmr/proto"
)

// iceEvent is an event as an Ice program publishes it.
func iceEvent(t *testing.T, operation string, encoding proto.Version, parameters []byte, entries map[string]string) *delivery.Event {
	t.Helper()
	encaps, start := proto.BeginEncapsulation(nil, encoding)
	encaps = proto.EndEncapsulation(append(encaps, parameters...), start)
	ev, err := delivery.NewEvent(proto.AppendTail(nil, operation, proto.ModeNormal, proto.NewContext(entries), encaps))
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func TestEventsLeaveAsMessages(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 300)
	for name, c := range map[string]struct {
		ev   *delivery.Event
		meid string
		want []byte
	}{
		"a payload":                {iceEvent(t, "message", proto.Encoding11, proto.AppendString(nil, "hello"), map[string]string{"meid": "gnb1", "cost": "4"}), "gnb1", []byte("hello")},
		"in the old encoding":      {iceEvent(t, "message", proto.Encoding10, proto.AppendString(nil, "hello"), nil), "", []byte("hello")},
		"a long one":               {iceEvent(t, "message", proto.Encoding11, proto.AppendString(nil, long), nil), "", long},
		"an empty one":             {iceEvent(t, "message", proto.Encoding11, proto.AppendString(nil, ""), map[string]string{"meid": ""}), "", nil},
		"no parameters":            {iceEvent(t, "message", proto.Encoding11, nil, nil), "", nil},
		"two parameters":           {iceEvent(t, "message", proto.Encoding11, []byte{1, 'a', 7}, nil), "", []byte{1, 'a', 7}},
		"cut":                      {iceEvent(t, "message", proto.Encoding11, []byte{9, 'a'}, nil), "", []byte{9, 'a'}},
		"another operation":        {iceEvent(t, "tick", proto.Encoding11, []byte{1, 'a'}, map[string]string{"meid": strings.Repeat("m", 31)}), strings.Repeat("m", 31), []byte{1, 'a'}},
		"an encoding of some else": {iceEvent(t, "tick", proto.Version{Major: 9}, []byte{1, 'a'}, nil), "", []byte{1, 'a'}},
	} {
		var sent []rmr.Message
		b := &bridge{send: func(m *rmr.Message) error { sent = append(sent, m.Clone()); return nil }}
		if err := b.leave(topics.Messages{MType: 12050, SubID: 3}, c.ev); err != nil || len(sent) != 1 {
			t.Errorf("%s: %v, %d messages", name, err, len(sent))
			continue
		}
		m := sent[0]
		if m.Type != 12050 || m.SubID != 3 || string(m.MEID) != c.meid || !bytes.Equal(m.Payload, c.want) {
			t.Errorf("%s: got type %d, id %d, MEID %q, payload %q; want MEID %q, payload %q", name, m.Type, m.SubID, m.MEID, m.Payload, c.meid, c.want)
		}
	}
}

func TestEventsThatCanNotBeMessages(t *testing.T) {
	to := topics.Messages{MType: 7, SubID: -1}
	plain := iceEvent(t, "message", proto.Encoding11, nil, nil)
	failing := func(err error) func(*rmr.Message) error { return func(*rmr.Message) error { return err } }
	for name, c := range map[string]struct {
		send   func(*rmr.Message) error
		ev     *delivery.Event
		reason delivery.Reason
		text   string
	}{
		"MEID of 32 bytes": {failing(nil), iceEvent(t, "x", proto.Encoding11, nil, map[string]string{"meid": strings.Repeat("m", 32)}), delivery.BadMEID, "MEID of 32 bytes: a message carries at most 31"},
		"zero in the MEID": {failing(nil), iceEvent(t, "x", proto.Encoding11, nil, map[string]string{"meid": "a\x00b"}), delivery.BadMEID, "zero byte"},
		"too large":        {failing(&rmr.SizeError{Size: 9, Limit: 8}), plain, delivery.TooLarge, ""},
		"no relay":         {nil, plain, delivery.Refused, "sends no messages"},
	} {
		err := (&bridge{send: c.send}).leave(to, c.ev)
		var unsent *delivery.Unsent
		if !errors.As(err, &unsent) || unsent.Reason != c.reason || !strings.Contains(unsent.Text, c.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	nowhere := errors.New("message went nowhere")
	if err := (&bridge{send: failing(nowhere)}).leave(to, plain); !errors.Is(err, nowhere) {
		t.Errorf("got %v, want %v", err, nowhere)
	}
}

// What is published comes out of the message as it was, and a message out of
// the event, for Ice and native subscribers alike.
func TestPayloadsStayWhatTheyWere(t *testing.T) {
	for _, payload := range [][]byte{nil, {0}, []byte("hello"), bytes.Repeat([]byte{0xff, 0}, 4000)} {
		ev := eventOf(&rmr.Message{Type: 20, SubID: rmr.NoSubID, MEID: []byte("gnb1"), Src: []byte("app:4560"), Payload: payload})
		parts, err := proto.ParseTail(ev.Tail)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for k, v := range parts.Context.All() {
			got[string(k)] = string(v)
		}
		want := map[string]string{"mtype": "20", "subid": "-1", "meid": "gnb1", "source": "app:4560"}
		if diff := cmp.Diff(got, want); diff != "" || string(parts.Operation) != "message" || ev.Cost != 0 {
			t.Errorf("operation %s, cost %d, context (-got +want):\n%s", parts.Operation, ev.Cost, diff)
		}
		if data, ok := native.Data(parts.Encaps); !ok || !bytes.Equal(data, payload) {
			t.Errorf("native: %.20q, %v; want %.20q", data, ok, payload)
		}
		if back := messagePayload(&parts); !bytes.Equal(back, payload) {
			t.Errorf("back: %.20q; want %.20q", back, payload)
		}
	}
	parts := eventOf(&rmr.Message{MEID: []byte("g\xff"), Src: []byte("\xc3:1")}).Parts()
	if meid, _ := parts.Context.Lookup("meid"); string(meid) != "g\uFFFD" {
		t.Errorf("MEID %q is no text", meid)
	}
}

// soloGroup is a state that nobody changes any more.
type soloGroup struct{ *fsm.State }

func (soloGroup) Propose(context.Context, fsm.Op, string) (fsm.Result, error) {
	return fsm.Result{}, errors.New("nothing is changed here")
}

func newSoloGroup(t *testing.T, ops ...fsm.Op) soloGroup {
	t.Helper()
	g := soloGroup{fsm.New(fsm.Config{})}
	ops = append([]fsm.Op{fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: fsm.ProgramVersion}}, ops...)
	for i, op := range ops {
		b, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if r := g.Apply(&raft.Log{Index: uint64(i + 1), Data: b}).(fsm.Result); r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	return g
}

// listener is a tap that notes what comes to topics.
type listener struct{ got []string }

func (l *listener) Wants(topics.ID) bool { return true }
func (l *listener) Push(id topics.ID, ev *delivery.Event) {
	parts := ev.Parts()
	l.got = append(l.got, string(rune('a'+id-1))+" "+string(messagePayload(&parts)))
}

// An event becomes a message by the rules of links; a message becomes an
// event that crosses none.
func TestBridgeBetweenHubAndMessages(t *testing.T) {
	seven := topics.ToMessages(topics.Messages{MType: 7, SubID: -1})
	g := newSoloGroup(t, fsm.CreateTopic{Name: "a"}, fsm.CreateTopic{Name: "b"}, fsm.Link{From: "a", To: "b"},
		fsm.Link{From: "a", Remote: &seven, Cost: 2}, fsm.Link{From: "b", Remote: &seven})
	var sent []string
	b := &bridge{limit: 100, send: func(m *rmr.Message) error { sent = append(sent, string(m.Payload)); return nil }}
	hub := delivery.New(delivery.Config{Group: g, Messages: b.leave})
	b.deliver = hub.DeliverMessage
	tap := &listener{}
	hub.Tap(tap)
	publish := func(payload, cost string) {
		hub.Topic("a").Publish(iceEvent(t, "message", proto.Encoding11, proto.AppendString(nil, payload), map[string]string{"cost": cost}), nil)
	}
	publish("cheap", "2")
	publish("dear", "3")
	m := rmr.Message{Type: 7, SubID: rmr.NoSubID, Payload: []byte("message")}
	b.arrive("a", &m)
	copy(m.Payload, "changed")
	b.arrive("nothing", &m)
	m.Payload = make([]byte, 101)
	b.arrive("a", &m)
	if want := []string{"cheap"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if want := []string{"a cheap", "b cheap", "a dear", "b dear", "a message"}; !slices.Equal(tap.got, want) {
		t.Errorf("got %q, want %q", tap.got, want)
	}
	if b.noTopic.Load() != 1 || b.tooLarge.Load() != 1 {
		t.Errorf("%d for no topic, %d too large, want one of each", b.noTopic.Load(), b.tooLarge.Load())
	}
}

func BenchmarkMessageArrives(b *testing.B) {
	br := &bridge{limit: 1 << 20, deliver: func(string, *delivery.Event) error { return nil }}
	m := &rmr.Message{Type: 20, SubID: rmr.NoSubID, MEID: []byte("gnb1"), Src: []byte("app:4560"), Payload: make([]byte, 256)}
	b.ReportAllocs()
	for b.Loop() {
		br.arrive("a", m)
	}
}

func BenchmarkEventLeaves(b *testing.B) {
	br := &bridge{send: func(*rmr.Message) error { return nil }}
	ev := eventOf(&rmr.Message{Payload: make([]byte, 256)})
	b.ReportAllocs()
	for b.Loop() {
		if err := br.leave(topics.Messages{MType: 7, SubID: -1}, ev); err != nil {
			b.Fatal(err)
		}
	}
}
