package lab_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"floe/scripts/suite/lab"
)

// dials says whether a node reaches an address within the limit.
func dials(n *lab.Node, address string, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := n.Dial(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// listenAsPeer listens where a node's peers find it, until the test ends.
func listenAsPeer(t *testing.T, n *lab.Node) net.Listener {
	t.Helper()
	var listener net.Listener
	err := n.Within(func() (err error) {
		listener, err = net.Listen("tcp", n.Peer())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// A node that moves is found by its peers at another address, each time, and no
// more at the one before; by clients where it always was. Cuts and bad lines go
// with it.
func TestMove(t *testing.T) {
	l := newLab(t, 2)
	a, b := l.Nodes[0], l.Nodes[1]
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{a.Peer(): true}
	http, listener := a.HTTP(), listenAsPeer(t, a)
	for range 2 {
		before := a.Peer()
		if !dials(b, before, patience) {
			t.Fatalf("%s can't be reached before the move", before)
		}
		if err := errors.Join(listener.Close(), l.Move("n1")); err != nil {
			t.Fatal(err)
		}
		if a.Running() || seen[a.Peer()] || a.HTTP() != http {
			t.Fatalf("moved: runs %v, at %s (was at %v), clients find it at %s", a.Running(), a.Peer(), seen, a.HTTP())
		}
		seen[a.Peer()] = true
		listener = listenAsPeer(t, a)
		if now, then := dials(b, a.Peer(), patience), dials(b, before, silence); !now || then {
			t.Errorf("reached at %s: %v, at the former %s: %v", a.Peer(), now, before, then)
		}
	}
	again, err := lab.Open(l.Number)
	if err != nil || again.Nodes[0].Peer() != a.Peer() {
		t.Errorf("read again the node is at %s, %v", again.Nodes[0].Peer(), err)
	}
	if !l.Namespaces {
		return
	}
	if err := l.Oneway("cut", []string{"n1"}, []string{"n2"}); err != nil {
		t.Fatal(err)
	}
	if dials(b, a.Peer(), silence) {
		t.Error("answers from the new address pass a cut")
	}
	if err := errors.Join(l.Heal("cut"), l.Spoil("late", []string{"n1"}, []string{"n2"}, lab.Quality{Delay: soon})); err != nil {
		t.Fatal(err)
	}
	if start := time.Now(); !dials(b, a.Peer(), patience) || time.Since(start) < soon {
		t.Errorf("a connection to the new address over a slow line was there after %s", time.Since(start))
	}
	if err := l.Move("n1"); err != nil {
		t.Fatal(err)
	}
	listenAsPeer(t, a)
	if start := time.Now(); !dials(b, a.Peer(), patience) || time.Since(start) < soon {
		t.Errorf("a connection to an address that is newer than the slow line was there after %s", time.Since(start))
	}
	if err := l.Heal(""); err != nil {
		t.Fatal(err)
	}
	if !dials(b, a.Peer(), patience) {
		t.Error("not reached once all is healed")
	}
}
