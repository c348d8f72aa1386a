package ops

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/transport/http/api"
	"floe/transport/http/backup"
)

// M5, A14: all that a cluster holds, in a file, and from there in another cluster, whole.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	old := floetest.StartCluster(t, 3)
	n := old.Nodes[0]
	n.Must("create", "A", "B", "C", "gone")
	n.Must("link", "A", "B")
	n.Must("link", "B", "C", "-3")
	n.Must("destroy", "gone")
	dir := t.TempDir()
	routes := filepath.Join(dir, "routes.rt")
	if err := os.WriteFile(routes, []byte(manyRoutes(20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Must("routes", "load", routes)
	file := filepath.Join(dir, "first.backup")
	header := savedAs(t, old.Followers()[0], file)
	old.WaitSame()
	before, topics := old.WaitLeader().Must("status", "--json"), identities(t, n)
	if !strings.Contains(before, header.Digest) || header.MEIDs != 20_000 || header.Topics != 3 || header.Links != 2 {
		t.Errorf("header %+v, status %s", header, before)
	}
	old.Kill()

	fresh := floetest.StartCluster(t, 3)
	asked := fresh.Followers()[0]
	ownID := statusOf(t, asked).ClusterID
	var r api.Restored
	if err := json.Unmarshal([]byte(asked.Must("restore", "--json", file)), &r); err != nil {
		t.Fatal(err)
	}
	if r.Digest != header.Digest || r.ClusterID != ownID || r.From != header.ClusterID || ownID == header.ClusterID {
		t.Errorf("restored %+v", r)
	}
	fresh.Kill()
	fresh.Restart()
	fresh.WaitSame()
	for _, n := range fresh.Nodes {
		s := n.WaitStatus("with the content of the backup", func(s api.Status) bool { return s.Digest == header.Digest })
		if s.ClusterID != ownID || len(s.Members) != 3 {
			t.Errorf("%s: %+v", n.ID, s)
		}
	}
	if got := identities(t, asked); got != topics {
		t.Errorf("topics were\n%s\nand are\n%s", topics, got)
	}
	publishOver(t, fresh.Nodes[1], fresh.Nodes[2], "A", "B")
	if again := savedAs(t, asked, filepath.Join(dir, "second.backup")); again.Digest != header.Digest {
		t.Errorf("backed up again: %+v", again)
	}
	wantExit(t, asked.Floe("restore", file), 1, "the cluster is not empty")
	refusedBackups(t, file)
}

// refusedBackups: what is no whole backup changes nothing in an empty cluster.
func refusedBackups(t *testing.T, file string) {
	t.Helper()
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	before := statusOf(t, n).Digest
	for name, c := range map[string]struct{ content, said string }{
		"torn":    {string(good[:len(good)/2]), "torn or damaged"},
		"flipped": {string(good[:5000]) + "xxxx" + string(good[5004:]), "torn or damaged"},
		"foreign": {"create A B\n", "not a backup of floe"},
		"empty":   {"", "not a backup of floe"},
	} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantExit(t, n.Floe("restore", bad), 1, bad, c.said, "nothing was changed")
	}
	if after := statusOf(t, n).Digest; after != before {
		t.Errorf("the digest was %s and is %s", before, after)
	}
}

func manyRoutes(meids int) string {
	var b strings.Builder
	b.WriteString("newrt|start\nmse|20|-1|10.0.0.1:4560;10.0.0.2:4560\nmse|21,10.0.0.3:4560|5|%meid\nnewrt|end|2\nmeid_map|start\n")
	lines := 0
	for i := 0; i < meids; i += 100 {
		fmt.Fprintf(&b, "mme_ar|10.0.1.%d:38000|", i%250)
		for j := range 100 {
			fmt.Fprintf(&b, "gnb_%06d ", i+j)
		}
		b.WriteString("\n")
		lines++
	}
	fmt.Fprintf(&b, "meid_map|end|%d\n", lines)
	return b.String()
}

// savedAs backs a cluster up through a node.
func savedAs(t *testing.T, n *floetest.Node, file string) backup.Header {
	t.Helper()
	n.Must("backup", file)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, _, err := backup.Copy(new(strings.Builder), f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func statusOf(t *testing.T, n *floetest.Node) api.Status {
	t.Helper()
	s, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// publishOver publishes at one node and waits for the event on a linked topic at another.
func publishOver(t *testing.T, at, from *floetest.Node, topic, linked string) {
	t.Helper()
	sub, err := from.Client(floetest.Patience).Subscribe(t.Context(), []string{linked})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if err := at.Client(5*time.Second).Publish(t.Context(), api.Publish{Topic: topic, Data: []byte("over the link")}); err != nil {
		t.Fatal(err)
	}
	ev, err := sub.Next()
	if err != nil || ev.Received == nil || string(ev.Received.Data) != "over the link" {
		t.Errorf("got %+v, %v", ev, err)
	}
}

// A13: the disk that a backup goes to is full.
func TestBackupOnFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: no file system of its own, so nothing to fill")
		return
	}
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	n.Must("create", "A")
	dir := filepath.Join(t.TempDir(), "small")
	mountSmall(t, dir)
	file := filepath.Join(dir, "floe.backup")
	good := savedAs(t, n, file)
	fill(t, dir)
	n.Must("create", "B")
	for _, name := range []string{file, filepath.Join(dir, "new.backup")} {
		wantExit(t, n.Floe("backup", name), 1, "no space left")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if h, _, err := backup.Copy(new(strings.Builder), f); err != nil || h != good {
		t.Errorf("the backup before: %+v, %v", h, err)
	}
}

// A cluster without a majority says so, and how it is backed up all the same.
func TestBackupWithoutMajority(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "A")
	c.WaitSame()
	c.Nodes[1].Kill()
	c.Nodes[2].Kill()
	file := filepath.Join(t.TempDir(), "floe.backup")
	wantExit(t, c.Nodes[0].Floe("backup", file), 4, "1 of 3 voters reachable, 2 needed", "--stale")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
	c.Nodes[0].Must("backup", "--stale", file)
	n := floetest.NewNode(t, "other")
	n.Start()
	n.WaitReady()
	n.Must("restore", file)
	if got := names(t, n); len(got) != 1 || got[0] != "A" {
		t.Errorf("topics %v", got)
	}
}
