package fsm_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"floe/fsm"
	"floe/routing"
	"floe/routing/derive"
	"floe/topics"
)

// graphNode is a node with one of everything that a graph holds.
func graphNode() *node {
	n := newNode()
	for _, op := range []fsm.Op{
		fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 1, Addresses: map[string][]string{"peer": {"127.0.0.2:7400"}}, Program: "devel", Supports: 1}},
		fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "c9", Addresses: []string{"h:1"}}},
		fsm.CreateTopic{Name: "a"},
		fsm.CreateTopic{Name: "b"},
		fsm.Link{From: "a", To: "b", Cost: -3},
		fsm.Link{From: "b", Remote: &topics.Remote{Identity: topics.Identity{Name: "topic.b", Category: "Other"}, Proxy: []byte{1, 2}}},
		fsm.Subscribe{Topic: "a", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{3}, QoS: []topics.Setting{{Key: "retryCount", Value: "2"}}}},
	} {
		n.do(fsm.Command{Request: fsm.RequestID{byte(n.index), 9}, Op: op})
	}
	return n
}

// goldenSnapshots are states whose snapshots are on people's disks: a golden
// file may be added, never changed.
func goldenSnapshots() map[string]*node {
	return map[string]*node{"graph": graphNode(), "routes": routesNode(), "apps": appsNode(), "facts": factsNode(), "restore": restoringNode(), "messages": messagesNode(), "tokens": tokensNode()}
}

// routesNode is a node with one of everything that routes can hold.
func routesNode() *node {
	n := graphNode()
	n.op(fsm.RaiseVersion{Version: 2})
	text := `newrt|start
mse|20|-1|a:1,b:1;c:1
mse|20,d:1|-1|%meid
del|20,e:1|-1
mse|21|3|a:1
newrt|end|4
meid_map|start
mme_ar|e2:1|g1 g2 g3
mme_ar|e1:1|g4
mme_del|g3
meid_map|end|3
`
	n.op(fsm.ChangeRoutes{Blocks: blocks(text)})
	n.op(fsm.StageRoutes{Load: 7, Blocks: blocks("newrt|start\nmse|30|-1|x:1\nnewrt|end\nmeid_map|start\nmme_del|g1\nmeid_map|end\n")})
	return n
}

// appsNode is a node that has apps, too, and says how routes are distributed.
func appsNode() *node {
	n := routesNode()
	mtype := int32(20)
	n.op(fsm.RaiseVersion{Version: 3})
	for _, op := range []fsm.Op{
		fsm.RegisterApp{Name: "app2:4560", Control: []string{"app2:4561", "10.0.0.6:4561"}, Node: "n1", Time: 5},
		fsm.RegisterApp{Name: "app1:4560", Control: []string{"app1:4561"}, Node: "n1", Time: 6},
		fsm.AckApps{Acks: []fsm.AppAck{{Name: "app1:4560", Serial: n.index + 2, Version: 12}}},
		fsm.SetServing{Out: []string{"n1"}, Assign: []fsm.Assignment{{Name: "app2:4560", Serial: n.index + 1, Node: "n2"}}},
		fsm.SetRelay{On: true, MType: &mtype},
		fsm.SetProbed{Dead: []string{"b:1"}},
	} {
		n.op(op)
	}
	return n
}

// tokensNode is a node that knows tokens.
func tokensNode() *node {
	n := graphNode()
	n.op(fsm.RaiseVersion{Version: 3})
	n.op(fsm.SetToken{Token: fsm.Token{Name: "root", Role: fsm.RoleCluster, Hash: fsm.HashToken("a"), Made: 5}})
	n.op(fsm.SetToken{Token: fsm.Token{Name: "join-1", Hash: fsm.HashToken("b"), Made: 6, Ends: 7}})
	return n
}

// factsNode is a node that derives routes and MEIDs, beside those loaded.
func factsNode() *node {
	n := routesNode()
	n.op(fsm.RaiseVersion{Version: 3})
	n.op(fsm.ChangeFacts{Changes: []derive.Change{
		{Kind: derive.SetConfig, Config: &derive.Config{Components: []derive.Component{{Name: "SUBMAN", FQDN: "sub", Port: 4560}}}},
		{Kind: derive.PutE2T, E2T: "e2t:38000", RANs: []string{"g1", "g7"}},
		{Kind: derive.Subscribe, SubID: 9, Endpoint: "xapp:4560"},
		{Kind: derive.AddRoute, Route: &derive.Route{MType: 21, SubID: 3, Groups: [][]string{{"h:1"}}}},
	}})
	return n
}

// blocks reads a text for a command.
func blocks(text string) []fsm.RouteBlock {
	p := routing.Parse(text, routing.Options{})
	if err := p.Err(); err != nil {
		panic(err)
	}
	return fsm.RouteBlocks(p.Update)
}

func TestSnapshotsKeepTheirBytes(t *testing.T) {
	for name, n := range goldenSnapshots() {
		got := snapshotOf(t, n.State)
		want := goldenBytes(t, filepath.Join("testdata", "snapshots", name+".hex"), got)
		back := restored(t, want)
		if again := snapshotOf(t, back.State); !bytes.Equal(again, want) || back.View().Digest() != n.View().Digest() {
			t.Errorf("%s: restored, it is another state", name)
		}
	}
}
