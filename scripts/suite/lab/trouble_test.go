package lab_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"floe/scripts/suite/lab"
)

// toiled is what the program of toiler has done since it was started.
type toiled struct {
	Writes, FailedWrites, Syncs, FailedSyncs int
	Last                                     time.Duration // what the last sync took
	Error                                    string        // of the last failure
}

// toiler is a program that writes to a file and syncs it all the time, and tells
// how that goes: this one, see TestMain.
func toiler(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LAB_TOILER", "yes") // nodes inherit it
	return program
}

// toil is what the program of toiler does: its third argument is the node's data
// directory, beside which it writes.
func toil() {
	f, err := os.Create(os.Args[3] + ".toil")
	if err != nil {
		return
	}
	var did toiled
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(2 * time.Millisecond) {
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			did.FailedWrites, did.Error = did.FailedWrites+1, err.Error()
		} else {
			did.Writes++
		}
		began := time.Now()
		if err := f.Sync(); err != nil {
			did.FailedSyncs, did.Error = did.FailedSyncs+1, err.Error()
		} else {
			did.Syncs++
		}
		did.Last = time.Since(began)
		b, err := json.Marshal(did)
		if err != nil || os.WriteFile(os.Args[3]+".next", b, 0o644) != nil || os.Rename(os.Args[3]+".next", os.Args[3]+".did") != nil {
			return
		}
	}
}

// awaitToil waits until a node's program has done what is wanted.
func awaitToil(t *testing.T, n *lab.Node, what string, wanted func(toiled) bool) toiled {
	t.Helper()
	var did toiled
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(n.Data() + ".did") // not there at first
		did = toiled{}
		if err == nil && json.Unmarshal(b, &did) == nil && wanted(did) {
			return did
		}
	}
	t.Fatalf("%s: waited in vain for %s; it has done %+v", n.Name, what, did)
	return did
}

// A disk fails once, or for as long as it has trouble, or is slow, for that node
// alone and also after the node started again, until it is relieved.
func TestAfflict(t *testing.T) {
	l := newLabOf(t, lab.Config{Nodes: 2, Binary: toiler(t)}, "")
	a, b := l.Nodes[0], l.Nodes[1]
	if !l.Namespaces {
		if err := a.Afflict(lab.Fails); !errors.Is(err, lab.ErrNoTrouble) {
			t.Errorf("without root: %v, want %v", err, lab.ErrNoTrouble)
		}
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(errors.Join(a.Relieve(), a.Start(), b.Start()))
	awaitToil(t, a, "syncs", func(d toiled) bool { return d.Syncs > 3 })

	must(a.Afflict(lab.FailsOnce))
	failed := awaitToil(t, a, "a failure", func(d toiled) bool { return d.FailedSyncs > 0 })
	after := awaitToil(t, a, "syncs after it", func(d toiled) bool { return d.Syncs > failed.Syncs+20 })
	if after.FailedSyncs > failed.FailedSyncs+1 || after.FailedWrites != 0 || failed.Error != fmt.Sprintf("sync %s.toil: input/output error", a.Data()) {
		t.Errorf("failed once: %+v, then %+v", failed, after)
	}
	awaitToil(t, a, "its tracer to let go", func(toiled) bool { return !a.Troubled() })

	must(a.Afflict(lab.Fails))
	failed = awaitToil(t, a, "failures", func(d toiled) bool { return d.FailedWrites > 0 && d.FailedSyncs > after.FailedSyncs })
	later := awaitToil(t, a, "more of them", func(d toiled) bool { return d.FailedWrites > failed.FailedWrites+3 })
	if later.Writes != failed.Writes || later.Syncs > failed.Syncs+1 { // one may have been under way
		t.Errorf("some succeed: %+v, then %+v", failed, later)
	}
	must(a.Relieve())
	awaitToil(t, a, "syncs once relieved", func(d toiled) bool { return d.Syncs > later.Syncs+3 && d.Writes > later.Writes+3 })

	const delay = 700 * time.Millisecond
	must(a.Afflict(lab.Slow(delay)))
	awaitToil(t, a, "slow syncs", func(d toiled) bool { return d.Last >= delay })
	must(errors.Join(a.Kill(), os.Remove(a.Data()+".did"), a.Start()))
	awaitToil(t, a, "slow syncs of a node that was started anew", func(d toiled) bool { return d.Last >= delay })
	must(a.Relieve())
	awaitToil(t, a, "quick syncs once relieved", func(d toiled) bool { return d.Last < delay })

	if did := awaitToil(t, b, "syncs", func(d toiled) bool { return d.Syncs > 0 }); did.FailedSyncs+did.FailedWrites > 0 {
		t.Errorf("the other node: %+v", did)
	}
	if err := a.Afflict("sadness"); err == nil {
		t.Error("a trouble that there is not was taken")
	}
}
