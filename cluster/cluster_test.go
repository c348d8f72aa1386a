package cluster_test

import (
	"testing"

	"go.uber.org/goleak"

	"floe/cluster/clustertest"
	"floe/fsm"
)

// memberlist does not wait for its last probe, which ends by itself within its
// time-out.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

func create(name string) fsm.Op { return fsm.CreateTopic{Name: name} }

func TestOneNode(t *testing.T) {
	c := clustertest.New(t, 1)
	n := c.Nodes[0]
	if _, err := n.Propose(t.Context(), create("a"), "test"); err != nil {
		t.Fatal(err)
	}
	if n.View().Graph.Topic("a") == nil {
		t.Error("the topic is not in the View that Propose waited for")
	}
}

func TestThreeNodes(t *testing.T) {
	c := clustertest.New(t, 3)
	for i, n := range c.Nodes {
		name := string(rune('a' + i))
		if _, err := n.Propose(t.Context(), create(name), "test"); err != nil {
			t.Fatalf("%s: %v", n.Name, err)
		}
		if n.View().Graph.Topic(name) == nil {
			t.Errorf("%s does not read its own write", n.Name)
		}
	}
	for _, n := range c.Nodes {
		v, err := n.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Graph.Len(); got != 3 {
			t.Errorf("%s reads %d topics, want 3", n.Name, got)
		}
	}
}
