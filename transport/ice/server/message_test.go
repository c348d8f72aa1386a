package server

import (
	"fmt"
	"strings"
	"testing"

	"floe/transport/ice/proto"
)

func TestDispatchStatuses(t *testing.T) {
	h := start(t, Config{}, Transport{})
	facet := proto.AppendRequest(nil, &proto.Request{ID: 1, Identity: proto.Identity{Name: "typed"}, Facet: "f", Operation: []byte("echo")})
	for _, c := range []struct {
		name    string
		request []byte
		status  proto.Status
	}{
		{"result", call(1, "typed", "echo", 2, str("x")), proto.StatusOK},
		{"idempotent as nonmutating", call(1, "typed", "echo", 1, str("x")), proto.StatusOK},
		{"idempotent as normal", call(1, "typed", "echo", 0, str("x")), proto.StatusUnknownLocalException},
		{"normal as idempotent", call(1, "typed", "wait", 2, nil), proto.StatusUnknownLocalException},
		{"ping of any mode", call(1, "typed", "ice_ping", 9, nil), proto.StatusOK},
		{"truncated parameters", call(1, "typed", "echo", 2, func(b []byte) []byte { return append(b, 5, 'x') }), proto.StatusUnknownLocalException},
		{"too many parameters", call(1, "typed", "ice_ids", 2, func(b []byte) []byte { return append(b, 0x1f) }), proto.StatusUnknownLocalException},
		{"no object", call(1, "nobody", "echo", 2, nil), proto.StatusObjectNotExist},
		{"no operation", call(1, "typed", "frob", 0, nil), proto.StatusOperationNotExist},
		{"no facet", facet, proto.StatusFacetNotExist},
		{"sink", call(1, "sink", "anything", 0, nil), proto.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := h.dial(t)
			p.send(c.request)
			if r := p.wantReply(1); r.Status != c.status {
				t.Errorf("got %v %q, want %v", r.Status, r.Text, c.status)
			}
		})
	}
}

// A request with id 0 gets no reply, whatever becomes of it.
func TestOnewayIsNeverAnswered(t *testing.T) {
	h := start(t, Config{}, Transport{})
	close(h.objects.gate)
	p := h.dial(t)
	for _, b := range [][]byte{
		call(0, "typed", "echo", 2, str("x")), call(0, "typed", "echo", 0, nil), call(0, "nobody", "x", 0, nil),
		call(0, "typed", "frob", 0, nil), call(0, "typed", "wait", 0, nil), call(0, "sink", "x", 0, nil),
		call(0, "typed", "wait", 2, nil),
	} {
		p.send(b)
	}
	<-h.objects.begun
	p.ping(7)
}

// A slow request does not keep later ones from being answered.
func TestRepliesComeInAnyOrder(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	p.send(append(call(1, "typed", "wait", 0, nil), call(2, "typed", "ice_ping", 1, nil)...))
	p.wantReply(2)
	close(h.objects.gate)
	p.wantReply(1)
}

func TestPanicEndsTheConnectionOnly(t *testing.T) {
	h := start(t, Config{}, Transport{})
	good, p := h.dial(t), h.dial(t)
	p.send(call(1, "typed", "panic", 0, nil))
	p.wantClosed()
	good.ping(1)
	if !strings.Contains(h.log.String(), "on purpose") {
		t.Error("not logged")
	}
}

func TestRefreshOncePerRead(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	var b []byte
	for i := range 20 {
		b = append(b, call(int32(i+1), "nobody", "x", 0, nil)...)
	}
	p.send(b)
	for i := range 20 {
		p.wantReply(int32(i + 1))
	}
	if n := h.objects.refreshes.Load(); n > 3 {
		t.Errorf("%d refreshes for requests in one write", n)
	}
}

// What was made since the last time is asked for anew.
func TestRefreshAgainLater(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	for i := range 3 {
		p.send(call(int32(i+1), "nobody", "x", 0, nil))
		p.wantReply(int32(i + 1))
	}
	if n := h.objects.refreshes.Load(); n != 3 {
		t.Errorf("%d refreshes for 3 requests one after the other", n)
	}
}

type mortal struct {
	Servant
	dead bool
}

func (m *mortal) Alive() bool { return !m.dead }

func TestKeptServants(t *testing.T) {
	var k kept
	a, b := &mortal{}, &mortal{}
	idA, idB := proto.Identity{Name: "a"}, proto.Identity{Name: "b"}
	k.add(idA, a)
	k.add(idB, b)
	if k.find(idA) != Servant(a) || k.find(idB) != Servant(b) || k.find(idB) != Servant(b) {
		t.Error("not kept")
	}
	b.dead = true
	if k.find(idB) != nil || k.find(idA) != Servant(a) {
		t.Error("the dead is kept, or the living is not")
	}
	for i := range 1000 {
		k.add(proto.Identity{Name: fmt.Sprint(i)}, a)
	}
	if len(k.all) > keptMax {
		t.Errorf("%d kept", len(k.all))
	}
}
