package cluster

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSealRoundTrip(t *testing.T) {
	for _, body := range []string{"", "x", "a body"} {
		node, cluster, got, err := unseal(seal("n1", "c1", []byte(body)))
		if err != nil || node != "n1" || cluster != "c1" || string(got) != body {
			t.Errorf("got %q, %q, %q, %v", node, cluster, got, err)
		}
	}
	for _, bad := range []string{"", "\x01", "\x02\x02n1\x00", "\x01\x02n", "\x01\x00\x00", "\x01\x02n1\x05c", "\x01\x02a/\x00"} {
		if _, _, _, err := unseal([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzUnseal(f *testing.F) {
	f.Add(seal("n1", "", nil))
	f.Add(seal("n1", "8d0c1e9e-4a55-4c11-9d2b-0a6f6b0c5a11", []byte("{}")))
	f.Fuzz(func(t *testing.T, b []byte) {
		node, cluster, body, err := unseal(b)
		if err == nil && !bytes.Equal(seal(node, cluster, body), b) {
			t.Errorf("%q reads as %q %q %q", b, node, cluster, body)
		}
	})
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(`{"c":"x","i":1,"a":"10.0.0.1:7400","s":1,"t":"member"}`))
	f.Add([]byte(`{"a":"nowhere"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseMeta(b); err == nil && CheckAddress(m.Address) != nil {
			t.Errorf("%q has the address %q", b, m.Address)
		}
	})
}

func TestAddressBook(t *testing.T) {
	b := newAddressBook("self")
	check := func(what, want string) {
		t.Helper()
		if got, _ := b.pick("n"); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	check("unknown", "")
	b.told(map[string]string{"n": "h:1", "self": "h:9"})
	check("hearsay", "h:1")
	b.setReplicated(map[string]string{"n": "h:2"})
	check("the state over hearsay", "h:2")
	b.heard("n", "h:3")
	check("itself over the state", "h:3")
	b.failed("h:3")
	check("passed over after a failure", "h:2")
	b.failed("h:2")
	b.failed("h:1")
	check("all failed: the one that failed first", "h:3")
	b.worked("h:2")
	check("works again", "h:2")
	if _, ok := b.pick("self"); ok {
		t.Error("the book has an address of its owner")
	}
}

func TestNoQuorumText(t *testing.T) {
	for want, e := range map[string]NoQuorum{
		"no quorum: 1 of 3 voters reachable, 2 needed":                    {Voters: 3, Reachable: 1},
		"no quorum: 2 of 5 voters reachable, 3 needed, last leader n1; x": {Voters: 5, Reachable: 2, LastLeader: "n1", Reason: "x"},
		"no quorum: 0 of 0 voters reachable; left":                        {Reason: "left"},
	} {
		if diff := cmp.Diff(e.Error(), want); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTimingBounds(t *testing.T) {
	for _, timing := range []Timing{LAN, Fast, WAN} {
		bound := timing.noLeaderAfter() + timing.askTime()
		if want := min(2*timing.Election+time.Second, 5*time.Second); bound != want {
			t.Errorf("%v: got %v, want %v", timing, bound, want)
		}
	}
	if _, err := ParseTiming("slow"); err == nil {
		t.Error("timing slow was read")
	}
}

// TestIncarnationsGrow: later log positions give larger numbers.
func TestIncarnationsGrow(t *testing.T) {
	last := uint64(0)
	for index := range uint64(100) {
		now := newIncarnation(index)
		if now <= last {
			t.Fatalf("incarnation %d at index %d after %d", now, index, last)
		}
		last = now
	}
}
