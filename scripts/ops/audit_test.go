package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

// auditLine is what a node's log says of a change; from is not quoted where it holds no space.
var auditLine = regexp.MustCompile(`audit: change: from="?([^"=]*?)"? what="(.*)" index=(\d+) outcome=(\w+)`)

// record is an audit line.
type record struct {
	from, what, outcome string
	index               uint64
}

func records(t *testing.T, n *floetest.Node) []record {
	t.Helper()
	var out []record
	for _, m := range auditLine.FindAllStringSubmatch(n.Log(), -1) {
		index, err := strconv.ParseUint(m[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, record{m[1], m[2], m[4], index})
	}
	return out
}

// S14: whichever node and face is asked for a change, it leaves one line there, with who, what, index and outcome, and the
// history of every node names the same. What is refused leaves its line and nothing else.
func TestEveryChangeLeavesOneRecord(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	dir := t.TempDir()
	file := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	for i, args := range [][]string{
		{"create", "A"}, {"create", "B"}, {"link", "A", "B", "3"}, {"link", "A", "B", "4", "--replace"}, {"unlink", "A", "B"},
		{"apply", file("graph", "create D E\nlink D E 7\n")},
		{"routes", "load", file("routes", "newrt|start\nmse|1|-1|10.0.0.1:4560\nnewrt|end|1\n")},
		{"meid", "set", "10.0.0.1:38000", "gnb"}, {"meid", "del", "gnb"}, {"destroy", "E"},
	} {
		c.Nodes[i%3].Must(args...)
	}
	conn, err := ice.Dial(c.Nodes[1].Ice(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	nobody, err := proto.ParseProxy("cat/nobody:tcp -h " + c.Nodes[1].IP + " -p 9 -t 2000")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Subscribe(proto.Identity{Name: "topic.A", Category: "IceStorm"}, map[string]string{"retryCount": "-1"}, nobody, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	c.Nodes[2].Must("unsubscribe", "A", "cat/nobody")
	wantExit(t, c.Nodes[0].Floe("create", "A"), 1, "topic exists")
	c.WaitSame()

	done := map[uint64]record{}
	for i, n := range c.Nodes {
		refused := 0
		for _, r := range records(t, n) {
			if _, twice := done[r.index]; twice && r.outcome == "done" {
				t.Errorf("%s: a second line about %+v", n.ID, r)
			}
			switch {
			case r.outcome == "done" && r.from != "" && r.what != "":
				done[r.index] = r
			case r.outcome == "refused" && strings.Contains(r.what, `create topic \"A\"`):
				refused++
			default:
				t.Errorf("%s: %+v", n.ID, r)
			}
		}
		if want := map[int]int{0: 1}[i]; refused != want {
			t.Errorf("%s: %d lines about what was refused, want %d\n%s", n.ID, refused, want, n.Log())
		}
	}
	if len(done) != 12 {
		t.Errorf("%d lines about changes, want 12: %v", len(done), done)
	}
	for _, n := range c.Nodes {
		h, err := n.Client(floetest.Patience).History(t.Context(), nil, 1000, true)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, r := range h.Changes {
			if r.From == "" || r.ByNode {
				continue
			}
			told++
			if got := done[r.Index]; got.from != r.From {
				t.Errorf("%s: the history says %q of index %d, the audit line %+v", n.ID, r.From, r.Index, got)
			}
		}
		if told != len(done) {
			t.Errorf("%s: %d changes in the history, %d audit lines", n.ID, told, len(done))
		}
	}
}

// S13: secrets are in the files that are made for them, which nobody else may read, and in nothing that a node says: its
// log, its answers, the list of processes.
func TestSecretsStayInTheirFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gossip := map[string]string{"old": "cGxhbnRlZC1zZWNyZXQtb2YtdGhlLWdvc3NpcC1BQUE=", "new": "cGxhbnRlZC1zZWNyZXQtb2YtdGhlLWdvc3NpcC1CQkI="}
	for name, text := range gossip {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := floetest.StartCluster(t, 2, "--gossip-key-file", filepath.Join(dir, "old"), "--log-level", "trace")
	n := c.Nodes[0]
	n.Must("keys", "add", filepath.Join(dir, "new"))
	n.Must("create", "A")
	n.Must("backup", filepath.Join(dir, "backup"))
	root := strings.TrimSpace(n.Must("token", "add", "root", "--role", "cluster"))
	file := filepath.Join(dir, "root")
	if err := os.WriteFile(file, []byte(root), 0o600); err != nil {
		t.Fatal(err)
	}
	with := []string{"--token-file", file}
	secrets := map[string]string{
		"gossip, old": gossip["old"], "gossip, new": gossip["new"], "gossip, plain": "planted-secret-of-the-gossip", "root": root,
		"ci":   strings.TrimSpace(n.Must(append([]string{"token", "add", "ci", "--role", "operate"}, with...)...)),
		"join": strings.TrimSpace(n.Must(append([]string{"token", "join"}, with...)...)),
	}
	wantExit(t, n.Floe("topics"), 1, "token")
	said := map[string]string{"backup": read(t, filepath.Join(dir, "backup"))}
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"members", "--json"}, {"token", "list", "--json"}, {"history", "--all", "--json"}, {"keys", "list", "--json"}, {"settings", "--json"}} {
		said["floe "+strings.Join(args, " ")] = n.Must(append(args, with...)...)
	}
	for _, node := range c.Nodes {
		_, said["metrics of "+node.ID] = floetest.Get(node.HTTP(), "/metrics")
		said["log of "+node.ID] = node.Log()
		said["command line of "+node.ID] = read(t, fmt.Sprintf("/proc/%d/cmdline", node.PID()))
	}
	for place, text := range said {
		if text == "" {
			t.Errorf("%s is empty", place)
		}
		for name, secret := range secrets {
			if secret == "" || strings.Contains(text, secret) {
				t.Errorf("%s holds the secret %s", place, name)
			}
		}
	}
	for _, node := range c.Nodes {
		holds := secretsIn(t, node.Dir, secrets)
		for path, names := range holds {
			if filepath.Base(path) != "gossip-keys.json" || strings.Contains(strings.Join(names, " "), "root") {
				t.Errorf("%s holds %v", path, names)
			}
		}
		if len(holds) != 1 {
			t.Errorf("%s: files that hold secrets: %v, want the one for those of the gossip", node.ID, holds)
		}
	}
}

// secretsIn names the files below a directory that hold secrets; each has to be its owner's alone.
func secretsIn(t *testing.T, dir string, secrets map[string]string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text := read(t, path)
		for name, secret := range secrets {
			if strings.Contains(text, secret) {
				out[path] = append(out[path], name)
			}
		}
		info, err := d.Info()
		if err == nil && len(out[path]) > 0 && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if errors.Is(err, fs.ErrNotExist) { // the node goes on with its files
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// U08: each cause has a kind and an exit code, and the same words in the answer of the API, on the command line and in the
// log. TestDiskFull has the cause that is left: no space, exit 5.
func TestCausesAreToldApart(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 2)
	n := c.Nodes[0]
	n.Must("create", "A", "B")
	n.Must("link", "A", "B", "1")
	calls := n.Client(floetest.Patience)
	create := func(name string) func() error {
		return func() error { _, err := calls.Create(t.Context(), name); return err }
	}
	link := func(to string) func() error {
		return func() error { _, err := calls.Link(t.Context(), api.NewLink{From: "A", To: to}); return err }
	}
	check := func(kind api.Kind, exit int, call func() error, args ...string) {
		t.Helper()
		var e *api.Error
		if err := call(); !errors.As(err, &e) || e.Kind != kind || e.Message == "" {
			t.Errorf("%q over HTTP: %v, want the kind %s", args, err, kind)
			return
		}
		wantExit(t, n.Floe(args...), exit, "error: "+e.Message)
		if !strings.Contains(n.Log(), "reason="+strconv.Quote(e.Message)) {
			t.Errorf("%q: no audit line with %q: %s", args, e.Message, n.Tail())
		}
	}
	long := strings.Repeat("x", 300)
	check(api.InvalidName, 1, create(long), "create", long)
	check(api.TopicExists, 1, create("A"), "create", "A")
	check(api.NoSuchTopic, 1, link("none"), "link", "A", "none")
	check(api.LinkExists, 1, link("B"), "link", "A", "B")
	c.Nodes[1].Kill()
	n.WaitStatus("without quorum", func(s api.Status) bool { return s.Leader == "" })
	check(api.NoQuorum, 4, create("C"), "create", "C")
	wantExit(t, n.Floe("topics", "--addr", n.IP+":9"), 4, n.IP+":9", "no node listens there")
	wantExit(t, n.Floe("create", "C", "--timeout", "nonsense"), 2)
}
