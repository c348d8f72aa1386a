package ice

import (
	"testing"

	"floe/fsm"
	"floe/transport/ice/client"
	"floe/transport/ice/proto"
)

func TestRepeatedForwardIsDroppedOnce(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), func(c *Config) { c.Dedupe = client.NewDedupe(0) })
	c := f.dial(t)
	target := proto.AppendTarget(nil, obj("IceStorm", "a.link"), "")
	events := []proto.Event{{Operation: []byte("one")}, {Operation: []byte("two")}}
	for _, seq := range []string{"1", "1", "2"} {
		c.send(proto.AppendForward(nil, 7, target, proto.NewContext(map[string]string{"floe.origin": "o", "floe.seq": seq}), events))
		if b, err := c.message(); err != nil || b[18] != 0 {
			t.Fatalf("% x, %v", b, err)
		}
	}
	if got := f.hub.list(); len(got) != 4 {
		t.Errorf("got %d events, want 4: %v", len(got), got)
	}
}

func TestForwardToDestroyedTopic(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	for _, want := range []proto.Status{proto.StatusOK, proto.StatusObjectNotExist} {
		c.send(proto.AppendForward(nil, 1, proto.AppendTarget(nil, obj("IceStorm", "a.link"), ""), nil, []proto.Event{{Operation: []byte("x")}}))
		if b, err := c.message(); err != nil || proto.Status(b[18]) != want {
			t.Errorf("% x, %v, want %v", b, err, want)
		}
		if want == proto.StatusOK {
			f.group.must(t, fsm.DestroyTopic{Name: "a"})
		}
	}
}

// A forward that says it holds 2^30 events is refused without room for them.
func TestForwardOfAnAbsurdCount(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	r := c.call(obj("IceStorm", "a.link"), "forward", 0, func(dst []byte) []byte { return append(dst, 255, 0, 0, 0, 0x40) })
	if r.Status != proto.StatusUnknownLocalException {
		t.Errorf("got %v", r.Status)
	}
	c.result(manager, "ice_ping", 0, nil)
}
