package lab_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/lab"
)

// diskLab makes a lab with a disk for each node. The nodes do nothing.
func diskLab(t *testing.T, nodes int) *lab.Lab {
	t.Helper()
	return newLabOf(t, lab.Config{Nodes: nodes, Disks: true}, "#!/bin/sh\nexec sleep 600\n")
}

// write writes a file on a node's disk, and syncs it where that is asked for.
func write(n *lab.Node, name, text string, sync bool) error {
	dir := filepath.Dir(n.Data())
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return errors.Join(f.Sync(), d.Sync())
}

func read(n *lab.Node, name string) string {
	b, _ := os.ReadFile(filepath.Join(filepath.Dir(n.Data()), name)) // what is not there reads as nothing
	return string(b)
}

// A power cut takes what was not synced, and the process; nothing else.
func TestPowerCut(t *testing.T) {
	l := diskLab(t, 2)
	a, b := l.Nodes[0], l.Nodes[1]
	if !l.Disks {
		if err := a.PowerCut(); !errors.Is(err, lab.ErrNoDisk) {
			t.Errorf("without root: %v, want %v", err, lab.ErrNoDisk)
		}
		return
	}
	if err := errors.Join(a.Start(), b.Start(), write(a, "kept", "kept", true), write(a, "gone", "gone", false), write(b, "other", "other", false)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.PowerCut(), a.PowerCut()); err != nil {
		t.Fatal(err)
	}
	if a.Running() || !b.Running() {
		t.Errorf("after the power cut of n1: n1 runs %v, n2 runs %v", a.Running(), b.Running())
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	if kept, gone, other := read(a, "kept"), read(a, "gone"), read(b, "other"); kept != "kept" || gone != "" || other != "other" || !a.Running() {
		t.Errorf("synced %q, not synced %q, of the other node %q", kept, gone, other)
	}
}

// A full disk takes nothing more, until it is emptied.
func TestFill(t *testing.T) {
	l := diskLab(t, 1)
	n := l.Nodes[0]
	if !l.Disks {
		if err := n.Fill(0); !errors.Is(err, lab.ErrNoDisk) {
			t.Errorf("without root: %v, want %v", err, lab.ErrNoDisk)
		}
		return
	}
	big := strings.Repeat("x", 3<<20)
	if err := n.Fill(5 << 20); err != nil {
		t.Fatal(err)
	}
	if err := write(n, "fits", big, true); err != nil {
		t.Errorf("3 MiB where 5 are left: %v", err)
	}
	if err := write(n, "more", big, true); err == nil {
		t.Error("6 MiB where 5 are left went in")
	}
	if err := errors.Join(n.Fill(0), n.Empty(), n.Empty()); err != nil {
		t.Fatal(err)
	}
	if err := write(n, "again", big, true); err != nil {
		t.Errorf("3 MiB on a disk that was emptied: %v", err)
	}
}

// A write to a frozen disk returns when it is thawed. Whoever waits for a
// frozen disk can still be killed.
func TestFreeze(t *testing.T) {
	l := diskLab(t, 1)
	n := l.Nodes[0]
	if !l.Disks {
		if err := n.Freeze(); !errors.Is(err, lab.ErrNoDisk) {
			t.Errorf("without root: %v, want %v", err, lab.ErrNoDisk)
		}
		return
	}
	if err := errors.Join(n.Start(), n.Freeze(), n.Freeze()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- write(n, "slow", "slow", true) }()
	select {
	case err := <-done:
		t.Errorf("a write to a frozen disk returned: %v", err)
	case <-time.After(200 * time.Millisecond): // as long as it takes to believe that it hangs
	}
	if err := errors.Join(n.Thaw(), n.Thaw()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := errors.Join(n.Freeze(), n.Kill()); err != nil || n.Running() {
		t.Errorf("killed while frozen: %v, runs: %v", err, n.Running())
	}
	if err := write(n, "after", "after", true); err != nil {
		t.Error(err)
	}
	if err := n.Freeze(); err != nil { // for the end of the lab to thaw
		t.Fatal(err)
	}
}
