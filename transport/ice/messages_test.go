package ice

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/routing"
	"floe/scripts/peers"
	"floe/topics"
	"floe/transport/ice/proto"
)

// messagesGroup has a topic with links to a topic and to messages.
func messagesGroup(t *testing.T) *fakeGroup {
	g := newGroup(t, "IceStorm", append(makeTopics("a", "b"), fsm.RaiseVersion{Version: 3}, fsm.Link{From: "a", To: "b", Cost: 1})...)
	for _, m := range []topics.Messages{{MType: 12050, SubID: -1}, {MType: 12050, SubID: 3}} {
		to := topics.ToMessages(m)
		g.must(t, fsm.Link{From: "a", Remote: &to, Cost: -5})
	}
	return g
}

// Ice tools see a link to messages under the category rmr, may remove it, and
// are told that there is no such object if they call it.
func TestLinksToMessages(t *testing.T) {
	f := startFace(t, messagesGroup(t), nil)
	cl, a := f.dial(t), obj("IceStorm", "topic.a")
	d := cl.result(a, "getLinkInfoSeq", proto.ModeIdempotent, nil)
	infos := d.LinkInfos()
	tcp := f.own[:1]
	want := []proto.LinkInfo{
		{Topic: proto.NewProxy(obj("IceStorm", "topic.b"), tcp...), Name: "b", Cost: 1},
		{Topic: proto.NewProxy(obj("rmr", "12050"), tcp...), Name: "rmr:12050", Cost: -5},
		{Topic: proto.NewProxy(obj("rmr", "12050/3"), tcp...), Name: "rmr:12050/3", Cost: -5},
	}
	if diff := cmp.Diff(infos, want); diff != "" {
		t.Fatalf("got (-) want (+):\n%s", diff)
	}
	target := infos[2].Topic
	for _, op := range []string{"ice_ping", "getName", "getLinkProxy", "message"} {
		if r := cl.call(target.Identity, op, proto.ModeIdempotent, nil); r.Status != proto.StatusObjectNotExist {
			t.Errorf("%s: %v, want %v", op, r.Status, proto.StatusObjectNotExist)
		}
	}
	// A link to messages can't be made over Ice: the target has no link object.
	if r := cl.call(obj("IceStorm", "topic.b"), "link", 0, linkParams(target, 0)); r.Status != proto.StatusObjectNotExist {
		t.Errorf("link: %v, want %v", r.Status, proto.StatusObjectNotExist)
	}
	proxy := func(dst []byte) []byte { return proto.AppendProxy(dst, &target, proto.Encoding11) }
	if r := cl.call(a, "unlink", 0, proxy); r.Status != proto.StatusOK {
		t.Fatalf("unlink: %v", r.Err())
	}
	if links := f.group.View().Graph.Topic("a").Links; len(links) != 2 || links[1].Remote.Messages.SubID != -1 {
		t.Errorf("left: %+v", links)
	}
	if r := cl.call(a, "unlink", 0, proxy); r.Status != proto.StatusUserException {
		t.Errorf("unlink again: %v, want NoSuchLink", r.Status)
	}
}

func TestAdminShowsLinksToMessages(t *testing.T) {
	f := startFace(t, messagesGroup(t), nil)
	stdout, stderr, exit := peers.Admin(t, f.adminAt(), "links; subscribers a")
	want := "a to b with cost 1\na to rmr:12050 with cost -5\na to rmr:12050/3 with cost -5\n" +
		"a: subscribers:\n\tIceStorm/topic.b\n\trmr/12050\n\trmr/12050\\/3\n"
	if stdout != want || exit != 0 {
		t.Errorf("got %q, %q, %d; want %q", stdout, stderr, exit, want)
	}
	if _, stderr, exit := peers.Admin(t, f.adminAt(), "destroy a"); exit != 0 {
		t.Errorf("destroy: %s", stderr)
	}
}

// Ice has no word for force, so a topic that a route leads to stays.
func TestAdminIsToldWhatUsesATopic(t *testing.T) {
	f := startFace(t, messagesGroup(t), nil)
	f.group.must(t, fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.FullTable, Records: []fsm.RouteRecord{
		{Verb: routing.Route, MType: 20, SubID: -1, Groups: [][]string{{"topic:a"}}}}}}})
	_, stderr, exit := peers.Admin(t, f.adminAt(), "destroy a")
	if !strings.Contains(stderr, "still in use: route") || exit != 1 || f.group.View().Graph.Topic("a") == nil {
		t.Errorf("got %q, %d", stderr, exit)
	}
}
