package lab_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"floe/scripts/suite/lab"
)

// newLab makes a lab whose nodes do nothing.
func newLab(t *testing.T, nodes int) *lab.Lab {
	t.Helper()
	return newLabOf(t, lab.Config{Nodes: nodes}, "#!/bin/sh\necho \"$@\"\nexec sleep 600\n")
}

// newLabOf makes a lab whose nodes run a script, where no program is named, and
// checks at the end that nothing of it is left.
func newLabOf(t *testing.T, c lab.Config, script string) *lab.Lab {
	t.Helper()
	if c.Binary == "" {
		c.Binary = filepath.Join(t.TempDir(), "floe")
		if err := os.WriteFile(c.Binary, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := lab.Create(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(l.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", l.Dir(), err)
		}
		if left, _ := filepath.Glob("/run/netns/floe-*"); l.Namespaces && slices.ContainsFunc(left, func(p string) bool { return strings.HasPrefix(p, "/run/netns/floe-"+filepath.Base(l.Dir())+"-") }) {
			t.Errorf("namespaces are still there: %v", left)
		}
		if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), l.Dir()+"/") {
			t.Errorf("disks are still mounted (%v):\n%s", err, mounts)
		}
	})
	return l
}

// Each cut drops what it says and nothing else. Where root is missing the lab
// says that it can't.
func TestCuts(t *testing.T) {
	l := newLab(t, 3)
	if !l.Namespaces {
		if err := l.Partition("x", []string{"n1"}, false); !errors.Is(err, lab.ErrNoNetwork) {
			t.Errorf("partition without root: %v, want %v", err, lab.ErrNoNetwork)
		}
		return
	}
	limit := patience // at first, since cables that were just laid may lose a packet
	check := func(what string, err error, blocked ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		reach, err := l.Probe(limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for pair, ok := range reach {
			if !ok {
				got = append(got, pair)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(got, blocked); d != "" {
			t.Errorf("%s: cut off (-got +want):\n%s", what, d)
		}
	}
	// A connection needs packets both ways, so cutting one cuts both pairs.
	check("nothing", nil)
	limit = time.Second
	check("partition", l.Partition("p", []string{"n2"}, false), "n1>n2", "n2>n1", "n2>n3", "n3>n2")
	check("partition and one way", l.Oneway("o", []string{"n1"}, []string{"n3"}), "n1>n2", "n1>n3", "n2>n1", "n2>n3", "n3>n1", "n3>n2")
	check("healed the first", l.Heal("p"), "n1>n3", "n3>n1")
	check("healed all", l.Heal(""))
	check("apart", l.Partition("p", []string{"n1", "n2", "n3"}, true), "n1>n2", "n1>n3", "n2>n1", "n2>n3", "n3>n1", "n3>n2")
	check("healed", l.Heal(""))
}

func TestSignals(t *testing.T) {
	l := newLab(t, 1)
	n := l.Nodes[0]
	if n.Running() {
		t.Error("runs before it was started")
	}
	for range 2 {
		if err := errors.Join(n.Start(), n.Start(), n.Pause(), n.Resume(), n.Pause()); err != nil {
			t.Fatal(err)
		}
		if !n.Running() {
			t.Error("does not run")
		}
		if err := errors.Join(n.Kill(), n.Kill(), n.Resume(), n.Pause()); err != nil {
			t.Fatal(err)
		}
		if n.Running() {
			t.Error("runs after SIGKILL")
		}
	}
}

// A lab whose state was read again controls the same nodes; one that stays is
// left alone by a sweep.
func TestStateIsKept(t *testing.T) {
	l := newLab(t, 2)
	if err := l.Nodes[1].Start(); err != nil {
		t.Fatal(err)
	}
	again, err := lab.Open(l.Number)
	if err != nil {
		t.Fatal(err)
	}
	if again.Nodes[0].Running() || !again.Nodes[1].Running() {
		t.Error("another state than the first")
	}
	if err := lab.Sweep(); err != nil {
		t.Fatal(err)
	}
	if !again.Nodes[1].Running() {
		t.Error("swept while its owner lives")
	}
	if _, err := again.Node("n3"); err == nil {
		t.Error("there is a third node")
	}
}

// What a killed run left is removed, whether it had come to a state or not.
func TestSweepRemovesWhatHasNoOwner(t *testing.T) {
	l := newLab(t, 1)
	root := filepath.Dir(l.Dir())
	stateless, young := filepath.Join(root, "249"), filepath.Join(root, "250")
	for _, dir := range []string{stateless, young} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Remove(young)
	old := time.Now().Add(-time.Hour)
	orphan := orphaned(t, l)
	if err := errors.Join(os.Chtimes(stateless, old, old), lab.Sweep()); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{stateless: false, orphan: false, young: true, l.Dir(): true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", dir, err == nil, want)
		}
	}
}

// orphaned copies a lab's state to a lab whose owner never was. As root it has a
// disk that is mounted.
func orphaned(t *testing.T, l *lab.Lab) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(l.Dir(), "lab.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(b, &state); err != nil {
		t.Fatal(err)
	}
	state["number"], state["owner"] = 248, map[string]int{"pid": 1 << 30, "started": 1}
	if b, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(l.Dir()), "248")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "lab.json"), b, 0o644)); err != nil {
		t.Fatal(err)
	}
	if l.Namespaces {
		disk := filepath.Join(dir, "n1")
		if err := errors.Join(os.Mkdir(disk, 0o755), unix.Mount("none", disk, "tmpfs", 0, "size=64k")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
