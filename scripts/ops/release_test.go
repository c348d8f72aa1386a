package ops

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/fsm"
	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

var keep = flag.String("keep", "", "write the data of this `RELEASE` to testdata")

const releaseDir = "testdata/releases"

// release is one that data is kept of.
type release struct{ name, commit string }

func releases(t *testing.T) []release {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(releaseDir, "releases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []release
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			all = append(all, release{f[0], f[1]})
		}
	}
	if len(all) == 0 {
		t.Fatal("no release is named")
	}
	return all
}

func (r release) archive() string { return filepath.Join(releaseDir, r.name+".tar.gz") }

// The data directories of each release, log and snapshots, are those of a cluster of today's program, with all they held.
func TestReleaseDataLoads(t *testing.T) {
	t.Parallel()
	for _, r := range releases(t) {
		if r.name == *keep {
			r.write(t)
		}
		dir := t.TempDir()
		unpack(t, r.archive(), dir)
		want, err := os.ReadFile(filepath.Join(dir, "content.txt"))
		if err != nil {
			t.Fatal(err)
		}
		c := floetest.NewCluster(t, 3)
		for _, n := range c.Nodes {
			n.Dir = filepath.Join(dir, n.ID)
		}
		c.Restart()
		c.WaitVoters(3)
		for _, n := range c.Nodes {
			if got := content(t, n); got != string(want) {
				t.Errorf("%s, node %s: it holds\n%s\nand held\n%s", r.name, n.ID, got, want)
			}
			n.WaitStatus("at today's cluster version", func(s api.Status) bool { return s.ClusterVersion == fsm.ProgramVersion })
		}
		c.Nodes[1].Must("create", "made-today")
		c.WaitSame()
	}
}

// content is all that a cluster holds, as text that stays the same over releases.
func content(t *testing.T, n *floetest.Node) string {
	t.Helper()
	c := n.Client(floetest.Patience)
	topics, err := c.Topics(t.Context())
	links, err2 := c.Links(t.Context())
	subscribers, err3 := c.Subscribers(t.Context())
	clusters, err4 := c.Clusters(t.Context())
	routes, err5 := c.Routes(t.Context())
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s\n", statusOf(t, n).ClusterID)
	for _, x := range topics {
		fmt.Fprintf(&b, "topic %s %d\n", x.Name, x.ID)
	}
	for _, x := range links {
		fmt.Fprintf(&b, "link %s %s %d\n", x.From, x.To, x.Cost)
	}
	for _, x := range subscribers {
		fmt.Fprintf(&b, "subscriber %s %s %s %v %d\n", x.Topic, x.Identity, x.Proxy, x.QoS, x.Serial)
	}
	for _, x := range clusters {
		fmt.Fprintf(&b, "other cluster %s %s\n", x.Name, x.ID)
	}
	return b.String() + string(routes)
}

// write makes the archive of a release with a cluster that runs it.
func (r release) write(t *testing.T) {
	t.Helper()
	program := floetest.BuildRelease(t, r.commit)
	far := floetest.NewNode(t, "far")
	far.Program = program
	far.Start()
	far.WaitReady()
	far.Must("create", "News")
	c := floetest.NewCluster(t, 3, "--snapshot-threshold", "8", "--snapshot-interval", "200ms")
	for _, n := range c.Nodes {
		n.Program = program
		n.Start("--join", c.Peers(), "--bootstrap-expect", "3")
	}
	c.WaitVoters(3)
	n := c.Nodes[0]
	n.Must("create", "A", "B", "C", "gone", "")
	n.Must("link", "A", "B")
	n.Must("link", "B", "C", "-3")
	n.Must("destroy", "gone")
	n.Must("clusters", "add", "far", far.Peer())
	n.Must("link", "A", "far/News", "7")
	subscribeNobody(t, n, "A")
	routes := filepath.Join(t.TempDir(), "routes.rt")
	if err := os.WriteFile(routes, []byte(manyRoutes(200)), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Must("routes", "load", routes)
	n.Must("meid", "del", "gnb_000007")
	snapshots := func() error {
		for _, n := range c.Nodes {
			if all, _ := filepath.Glob(filepath.Join(n.Dir, "snapshots", "*-*-?")); len(all) == 0 {
				return fmt.Errorf("%s has no snapshot", n.ID)
			}
		}
		return nil
	}
	for i := 0; snapshots() != nil; i++ {
		n.Must("create", fmt.Sprint("filler", i))
		if i > 200 {
			t.Fatal(snapshots())
		}
	}
	n.Must("create", "after the snapshot")
	c.WaitSame()
	text := content(t, n)
	c.Kill()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	add := func(name string, content []byte) {
		t.Helper()
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	add("content.txt", []byte(text))
	for _, n := range c.Nodes {
		err := filepath.WalkDir(n.Dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "lock" {
				return err
			}
			content, err := os.ReadFile(path)
			add(filepath.Join(n.ID, strings.TrimPrefix(path, n.Dir)), content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(r.archive(), b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// subscribeNobody subscribes an object that is nowhere; as nothing is published it stays.
func subscribeNobody(t *testing.T, n *floetest.Node, topic string) {
	t.Helper()
	conn, err := ice.Dial(n.Ice(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	at, err := conn.TopicProxy(topic, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := proto.ParseProxy("nobody:tcp -h 127.0.0.1 -p 9")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Subscribe(at.Identity, map[string]string{"retryCount": "-1", "reliability": "ordered"}, nobody, 5*time.Second); err != nil {
		t.Fatal(err)
	}
}

// unpack unpacks an archive.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// M4: the newest release and today's program in one cluster, node by node up, down again while the cluster version
// stands, and up for good, while somebody makes changes all the time.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	all := releases(t)
	old := floetest.BuildRelease(t, all[len(all)-1].commit)
	c := floetest.NewCluster(t, 3)
	for _, n := range c.Nodes {
		n.Program = old
		n.Start("--join", c.Peers(), "--bootstrap-expect", "3")
	}
	c.WaitVoters(3)
	was := statusOf(t, c.Nodes[0]).ClusterVersion
	if was >= fsm.ProgramVersion {
		t.Fatalf("the release is at cluster version %d, as today's program: nothing rises", was)
	}
	c.Nodes[0].Must("create", "first")
	load := startCreating(t, c.Nodes, "load")
	swap := func(n *floetest.Node, program string) {
		t.Helper()
		load.wait(t, 5)
		n.Stop()
		n.Program = program
		n.Start("--join", c.PeersWithout(n))
		c.WaitVoters(3)
		load.wait(t, 10)
	}
	const today = ""
	swap(c.Nodes[0], today)
	swap(c.Nodes[1], today)
	if c.WaitLeader() != c.Nodes[0] {
		c.Nodes[1].Must("transfer", "n1") // the newer one leads the older
	}
	if got := statusOf(t, c.Nodes[1]).ClusterVersion; got != was {
		t.Errorf("the cluster version rose to %d with a node that does not know it", got)
	}
	load.wait(t, 10)
	swap(c.Nodes[1], old)
	swap(c.Nodes[0], old)
	for _, n := range c.Nodes {
		swap(n, today)
	}
	for _, n := range c.Nodes {
		n.WaitStatus("at today's cluster version", func(s api.Status) bool { return s.ClusterVersion == fsm.ProgramVersion })
	}
	made := load.stop()
	for _, n := range c.Nodes {
		missing(t, n, append([]string{"first"}, made.acked...))
	}
	c.WaitSame()
	t.Logf("%d changes acknowledged, %d failed, longest pause %v", len(made.acked), len(made.failed), made.gap)
}
