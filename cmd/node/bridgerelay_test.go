package main

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"floe/fsm"
	"floe/routing"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
	"floe/transport/rmr"
	rmrproto "floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// An event goes to an application by the route table, and one that it sends to
// topics comes as an event, through a real relay.
func TestEventsAndMessagesThroughTheRelay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	atApp, atTopics := listenLocal(t), listenLocal(t)
	app := rmr.New(rmr.Config{Listener: atApp})
	defer app.Close()
	seven := topics.ToMessages(topics.Messages{MType: 1007, SubID: 3})
	g := newSoloGroup(t, fsm.CreateTopic{Name: "a"}, fsm.Link{From: "a", Remote: &seven},
		fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.FullTable, Records: []fsm.RouteRecord{
			{Verb: routing.Route, MType: 1007, SubID: 3, Groups: [][]string{{"topic:a"}, {atApp.Addr().String()}}},
		}}}})
	b := &bridge{limit: 1 << 20}
	hub := delivery.New(delivery.Config{Group: g, Messages: b.leave})
	r := relay.New(relay.Config{Group: g, Publish: b.arrive, Source: "floe:4560"})
	b.send, b.deliver = r.Send, hub.DeliverMessage
	events := make(chan string, 10)
	hub.Tap(tapTo(events))
	var served sync.WaitGroup
	served.Go(func() {
		if err := r.ServeTopics(atTopics); err != nil {
			t.Error(err)
		}
	})
	defer func() {
		_ = r.Shutdown(ctx) // nothing is left to be sent
		served.Wait()
	}()

	payload := bytes.Repeat([]byte{0, 0xff, 'x'}, 1000)
	entries := map[string]string{"meid": "gnb1"}
	hub.Topic("a").Publish(iceEvent(t, "message", proto.Encoding11, proto.AppendString(nil, payload), entries), nil)
	if got := <-events; got != "a "+string(payload) {
		t.Errorf("the event itself is %.20q", got)
	}
	m, err := app.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m.Type != 1007 || m.SubID != 3 || string(m.MEID) != "gnb1" || string(m.Src) != "floe:4560" || !slices.Equal(m.Payload, payload) {
		t.Errorf("type %d, sub id %d, MEID %q, source %q, payload %.20q", m.Type, m.SubID, m.MEID, m.Src, m.Payload)
	}

	answer := rmrproto.Message{Type: 1007, SubID: 3, Payload: []byte("hello")}
	if err := app.Send(ctx, atTopics.Addr().String(), answer); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-events:
		if got != "a hello" {
			t.Errorf("the message came as %q", got)
		}
	case <-ctx.Done():
		t.Fatal("the message never came as an event")
	}
	if s := hub.Stats().Total; s.Offered != 1 || s.Delivered != 1 {
		t.Errorf("links had %d events and handed on %d, want one: what was a message crosses none", s.Offered, s.Delivered)
	}
}

// tapTo is a tap that hands on what comes to topics.
type tapTo chan<- string

func (tapTo) Wants(topics.ID) bool { return true }
func (l tapTo) Push(id topics.ID, ev *delivery.Event) {
	note := listener{}
	note.Push(id, ev)
	l <- note.got[0]
}
