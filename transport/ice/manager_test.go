package ice

import (
	"fmt"
	"strings"
	"testing"

	"floe/fsm"
	"floe/transport/ice/proto"
)

func TestCreateOrRetrieve(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	c := f.dial(t)
	for range 2 {
		d := c.result(manager, "createOrRetrieve", proto.ModeNormal, str("x"))
		if p := d.Proxy(); p.Identity != obj("IceStorm", "topic.x") || d.Finish() != nil {
			t.Errorf("got %v", p.String())
		}
	}
	f.group.setRefuse(errNoQuorum)
	c.result(manager, "createOrRetrieve", proto.ModeNormal, str("x"))
	r := c.call(manager, "createOrRetrieve", proto.ModeNormal, str("y"))
	if r.Status != proto.StatusUnknownException || r.Text != errNoQuorum.Error() {
		t.Errorf("got %v %q", r.Status, r.Text)
	}
}

func TestRetrieveAllThatNeverFits(t *testing.T) {
	g := newGroup(t, "IceStorm")
	for i := range 3000 {
		g.must(t, fsm.CreateTopic{Name: fmt.Sprintf("%0250d", i)})
	}
	f := startFace(t, g, nil)
	r := f.dial(t).call(manager, "retrieveAll", proto.ModeIdempotent, nil)
	if r.Status != proto.StatusUnknownException || !strings.Contains(r.Text, "3000 topics do not fit") {
		t.Errorf("got %v %q", r.Status, r.Text)
	}
	// An operator who raised the limit raised it for clients too.
	f = startFace(t, g, func(c *Config) { c.Server.MessageSizeMax = 4 << 20 })
	d := f.dial(t).result(manager, "retrieveAll", proto.ModeIdempotent, nil)
	if n := d.SeqSize(2); n != 3000 {
		t.Errorf("%d topics", n)
	}
}

// The estimate that fitting goes by is never too low, and close.
func TestFittingEstimate(t *testing.T) {
	g := newGroup(t, "IceStorm")
	var endpoints []proto.Endpoint
	for i := range 256 {
		g.must(t, fsm.CreateTopic{Name: strings.Repeat("x", i)})
	}
	for i := range 5 {
		endpoints = append(endpoints, proto.Endpoint{Type: proto.EndpointTCP, Host: strings.Repeat("h", 40*i), Port: 1})
	}
	v := g.View()
	for _, encoding := range []proto.Version{proto.Encoding10, proto.Encoding11} {
		for n := 1; n <= len(endpoints); n++ {
			size := len(appendTopics(nil, v, endpoints[:n], encoding))
			if got := fitting(v, endpoints, size-1, encoding); got >= n {
				t.Errorf("%d endpoints take %d bytes, but fit in less", n, size)
			}
			if got := fitting(v, endpoints, size+3*v.Graph.Len(), encoding); got < n {
				t.Errorf("%d endpoints take %d bytes, but %d fit in a little more", n, size, got)
			}
		}
	}
}

func TestNameThatIsNone(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	c := f.dial(t)
	for _, n := range []string{strings.Repeat("x", 256), "\xff"} {
		if r := c.call(manager, "create", 0, str(n)); r.Status != proto.StatusUnknownException || !strings.Contains(r.Text, "not a topic name") {
			t.Errorf("got %v %q", r.Status, r.Text)
		}
	}
}
