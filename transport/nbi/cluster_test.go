package nbi_test

import (
	"context"
	"testing"

	"floe/cluster/clustertest"
	"floe/fsm"
	"floe/routing/derive"
	"floe/transport/nbi"
)

// The same day on three nodes: each call goes to another node, and in the
// middle of it the leader dies.
func TestDayOnThreeNodes(t *testing.T) {
	c := clustertest.New(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	propose := func(op fsm.Op) {
		t.Helper()
		if _, err := c.Leader().Propose(ctx, op, ""); err != nil {
			t.Fatal(err)
		}
	}
	if v := c.Leader().View().Version; v < fsm.ProgramVersion {
		propose(fsm.RaiseVersion{Version: fsm.ProgramVersion})
	}
	propose(fsm.ChangeFacts{Changes: []derive.Change{setConfig(t)}})
	appmgr, url := newManager(t, "[]")
	faces := map[*clustertest.Node]*face{}
	for _, n := range c.Nodes {
		faces[n] = serve(t, nbi.Config{Group: n, CommitWithin: deadline,
			XApps: nbi.NewSources(nbi.SourcesConfig{Group: n, URLs: nbi.URLs{XApps: url}, Client: client(t)})})
	}
	turn := 0
	var last *clustertest.Node
	next := func() *face {
		for {
			turn++
			if last = c.Nodes[turn%len(c.Nodes)]; last.Running() {
				return faces[last]
			}
		}
	}
	killed := false
	script(t, func() *fsm.View { return last.View() }, appmgr, next, func(step string) {
		if step == "merged" {
			c.Leader().Kill()
			killed = true
		}
	})
	if !killed {
		t.Error("the leader lived")
	}
	for _, n := range c.Nodes {
		if n.Running() {
			eventually(t, "the same table on every node", func() bool { return n.View().Routes.State().Digest() == last.View().Routes.State().Digest() })
		}
	}
}
