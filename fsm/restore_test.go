package fsm_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
)

// emptyCluster is a node of a cluster in which nobody changed anything.
func emptyCluster(id string) *node {
	n := emptyNode()
	n.op(fsm.Init{ClusterID: id, Instance: "IceStorm", Version: fsm.ProgramVersion})
	n.op(fsm.SetMember{Member: fsm.Member{ID: "n7", Incarnation: 4, Supports: fsm.ProgramVersion}})
	return n
}

func backupOf(t interface{ Fatal(...any) }, v *fsm.View) []byte {
	var b bytes.Buffer
	if err := v.WriteBackup(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stage hands a node all parts of a backup, of at most size bytes each.
func stage(n *node, id uint64, backup []byte, size int) (parts int, refused *fsm.Refusal) {
	for len(backup) > 0 {
		part := backup[:min(size, len(backup))]
		backup = backup[len(part):]
		if r := n.op(fsm.StageRestore{Restore: id, Part: parts, Data: part}); r.Refused != nil {
			return parts, r.Refused
		}
		parts++
	}
	return parts, nil
}

// restoringNode is a node amid a restore.
func restoringNode() *node {
	n := emptyCluster("c1")
	var b bytes.Buffer
	_ = appsNode().View().WriteBackup(&b)
	stage(n, 9, b.Bytes(), 200)
	return n
}

func TestRestoreGivesTheSameContent(t *testing.T) {
	from := appsNode()
	backup := backupOf(t, from.View())
	n := emptyCluster("c1")
	parts, refused := stage(n, 9, backup, 200)
	if refused != nil || parts < 3 {
		t.Fatalf("%d parts, %v", parts, refused)
	}
	if v := n.View(); v.Graph.Len() != 0 || v.UserChanges != 0 {
		t.Error("a staged restore is seen")
	}
	// A node that takes a snapshot in the middle goes on alike.
	other := restored(t, snapshotOf(t, n.State))
	other.index = n.index
	for _, x := range []*node{n, other} {
		r := x.op(fsm.CommitRestore{Restore: 9, Parts: parts})
		v := x.View()
		if r.Refused != nil || v.Digest() != from.View().Digest() || r.Count != v.Graph.Len() {
			t.Fatalf("%+v, digest %v, want %v", r, v.Digest(), from.View().Digest())
		}
		if v.ClusterID != "c1" || v.Index != x.index || v.UserChanges != 1 || v.Version != fsm.ProgramVersion {
			t.Errorf("cluster %s at %d, %d changes, version %d", v.ClusterID, v.Index, v.UserChanges, v.Version)
		}
		if _, ours := v.Member("n7"); !ours || len(v.Members) != 1 {
			t.Errorf("members: %+v", v.Members)
		}
		if got, want := v.Graph.Serial(), from.View().Graph.Serial(); got != want {
			t.Errorf("serial %d, want %d: ids would come twice", got, want)
		}
	}
	if !bytes.Equal(snapshotOf(t, n.State), snapshotOf(t, other.State)) {
		t.Error("the two nodes differ")
	}
}

// A restored cluster is younger than what it holds: what is noted next still
// comes after it.
func TestVersionsGrowAfterRestore(t *testing.T) {
	from := appsNode()
	for range 50 {
		from.op(fsm.Barrier{})
	}
	from.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_ar|e9:1|g9\nmeid_map|end|1\n")})
	n := emptyCluster("c1")
	parts, _ := stage(n, 9, backupOf(t, from.View()), 1<<20)
	n.op(fsm.CommitRestore{Restore: 9, Parts: parts})
	was := n.View().Routes.Version
	if was != from.View().Routes.Version {
		t.Fatalf("version %d, want %d", was, from.View().Routes.Version)
	}
	r := n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_del|g9\nmeid_map|end|1\n")})
	if r.Version <= from.index || r.Index != n.index {
		t.Errorf("version %d after %d, at index %d", r.Version, was, r.Index)
	}
	if gone := n.View().Routes.Gone.Since(was); !cmp.Equal(gone, []string{"g9"}) {
		t.Errorf("deleted since: %v", gone)
	}
	again := restored(t, snapshotOf(t, n.State))
	if again.View().Shift != n.View().Shift || n.View().Shift == 0 {
		t.Errorf("shift %d, after a snapshot %d", n.View().Shift, again.View().Shift)
	}
}

func TestRequestsOutliveRestore(t *testing.T) {
	n := emptyCluster("c1")
	parts, _ := stage(n, 9, backupOf(t, graphNode().View()), 1<<20)
	c := fsm.Command{Request: fsm.RequestID{5}, Op: fsm.CommitRestore{Restore: 9, Parts: parts}}
	first := n.do(c)
	c.Repeat = true
	if again := n.do(c); !again.Equal(first) || first.Refused != nil {
		t.Errorf("repeated: %+v, first %+v", again, first)
	}
	old := fsm.Command{Request: fsm.RequestID{3, 9}, Op: fsm.CreateTopic{Name: "a"}} // of the old cluster's
	if r := n.do(old); !errors.Is(r.Err(), topics.ErrExists) {
		t.Errorf("a request that the other cluster remembered: %+v", r)
	}
}

func TestRestoreIsRefused(t *testing.T) {
	good := backupOf(t, graphNode().View())
	torn := good[:len(good)-7]
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	self := graphNode()
	self.op(fsm.SetCluster{Cluster: fsm.Peer{Name: "west", ID: "c1", Addresses: []string{"h:1"}}})
	newer := emptyNode()
	newer.op(fsm.Init{ClusterID: "c2", Instance: "IceStorm", Version: fsm.ProgramVersion + 1})
	for name, c := range map[string]struct {
		backup []byte
		before fsm.Op
		late   fsm.Op
		want   topics.Kind
	}{
		"not empty":          {backup: good, before: fsm.CreateTopic{Name: "x"}, want: fsm.ErrNotEmpty},
		"changed meanwhile":  {backup: good, late: fsm.CreateTopic{Name: "x"}, want: fsm.ErrNotEmpty},
		"torn":               {backup: torn, want: fsm.ErrBackup},
		"flipped":            {backup: flipped, want: fsm.ErrBackup},
		"leads to itself":    {backup: backupOf(t, self.View()), want: fsm.ErrCluster},
		"of a newer version": {backup: backupOf(t, newer.View()), want: fsm.ErrVersion},
		"another began":      {backup: good, late: fsm.StageRestore{Restore: 10, Data: []byte("x")}, want: fsm.ErrNoLoad},
		"part missing":       {backup: good, late: fsm.StageRestore{Restore: 9, Part: 99, Data: []byte("x")}, want: ""},
	} {
		n := emptyCluster("c1")
		if c.before != nil {
			n.op(c.before)
		}
		parts, refused := stage(n, 9, c.backup, 200)
		if c.late != nil {
			n.op(c.late)
		}
		before := n.View()
		if refused == nil {
			refused = n.op(fsm.CommitRestore{Restore: 9, Parts: parts}).Refused
		}
		switch {
		case c.want == "" && refused != nil:
			t.Errorf("%s: %v", name, refused)
		case c.want != "" && (refused == nil || refused.Kind != c.want):
			t.Errorf("%s: %v, want %q", name, refused, c.want)
		case c.want != "" && n.View().Digest() != before.Digest():
			t.Errorf("%s: something was changed", name)
		}
	}
}

func TestAbandonedRestoreIsDropped(t *testing.T) {
	n := emptyCluster("c1")
	parts, _ := stage(n, 9, backupOf(t, graphNode().View()), 200)
	empty := snapshotOf(t, emptyCluster("c1").State)
	for range 4097 {
		n.op(fsm.Barrier{})
	}
	if got := len(snapshotOf(t, n.State)); got > len(empty)+64 {
		t.Errorf("a snapshot still has %d bytes, an empty one %d", got, len(empty))
	}
	if r := n.op(fsm.CommitRestore{Restore: 9, Parts: parts}); !errors.Is(r.Err(), fsm.ErrNoLoad) {
		t.Errorf("committed: %+v", r)
	}
}

func TestOlderClusterTakesNoRestore(t *testing.T) {
	n := newNode() // at version 1
	if r := n.op(fsm.StageRestore{Restore: 1, Data: []byte("x")}); !errors.Is(r.Err(), fsm.ErrVersion) {
		t.Errorf("staged: %+v", r)
	}
}

func TestAppsThatAreHereStayAfterRestore(t *testing.T) {
	n := emptyCluster("c1")
	n.op(fsm.RegisterApp{Name: "app2:4560", Control: []string{"new:1"}, Node: "n7"})
	n.op(fsm.RegisterApp{Name: "app9:4560", Control: []string{"new:2"}, Node: "n7"})
	parts, _ := stage(n, 9, backupOf(t, appsNode().View()), 1<<20)
	n.op(fsm.CommitRestore{Restore: 9, Parts: parts})
	if len(n.View().Apps) != 3 {
		t.Errorf("apps: %+v", n.View().Apps)
	}
	if a, _ := n.View().App("app2:4560"); a.Node != "n7" {
		t.Errorf("an app that is here: %+v", a)
	}
}

func TestReformedHasTheNodesNamed(t *testing.T) {
	n := appsNode()
	formed, err := n.Reformed([]fsm.Member{{ID: "n1", Incarnation: 99, Addresses: map[string][]string{"peer": {"h:1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var sink memorySink
	if err := formed.Persist(&sink); err != nil {
		t.Fatal(err)
	}
	back := restored(t, sink.Bytes())
	v := back.View()
	if len(v.Members) != 1 || v.Members[0].Incarnation != 99 || !cmp.Equal(v.Servers, []fsm.Server{{ID: "n1", Voter: true}}) {
		t.Errorf("members %+v, servers %+v", v.Members, v.Servers)
	}
	if v.Digest() != n.View().Digest() || v.ClusterID != n.View().ClusterID || v.Index != n.View().Index {
		t.Error("the content is another")
	}
}

func TestReadBackupReadsAllOfIt(t *testing.T) {
	if _, err := fsm.ReadBackup(io.LimitReader(bytes.NewReader(nil), 0)); !errors.Is(err, fsm.ErrBackup) {
		t.Errorf("nothing at all: %v", err)
	}
}
