package ice

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/transport/ice/proto"
)

func TestReplicaQuery(t *testing.T) {
	want := queryOf(t, replyDecoder(t, readVector(t, "testdata/vectors/ha-node-query.txt")))
	g := newGroup(t, "HA")
	g.servers("n0", "n1", "n2")
	f := startFace(t, g, func(c *Config) {
		c.Node, c.Endpoints = "n2", []string{"tcp -h 127.0.0.1 -p 10030"}
		c.Leader = func() (string, uint64) { return "n2", 4 }
	})
	d := f.dial(t).result(obj("HA", "node2"), "query", proto.ModeIdempotent, nil)
	got := queryOf(t, &d)
	want.Group, want.Replica.Endpoints[0].Port = "c:4", 10030
	for i := range want.Up {
		want.Up[i].Generation, want.Up[i].Iteration = 0, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("query (-captured +ours):\n%s", diff)
	}
}

func queryOf(t *testing.T, d *proto.Decoder) proto.QueryInfo {
	t.Helper()
	q := d.QueryInfo()
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	return q
}
