package certs_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/transport/certs"
	"floe/transport/wire"
)

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}

func run(t *testing.T, s *certs.Source) chan<- os.Signal {
	t.Helper()
	again := make(chan os.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, again) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return again
}

// A new certificate is used by new connections; calls never fail meanwhile,
// and a connection that stands goes on.
func TestNewCertificatesWithoutARestart(t *testing.T) {
	w := newWorld(t, "demo")
	n1, n2 := w.node("n1", time.Hour), w.node("n2", time.Hour)
	run(t, n1)
	port := peerPort(t, n1, &lines{})
	standing := wire.NewClient(wire.Options{WrapDialled: n2.Dialled})
	defer standing.Close()
	ask := func() {
		t.Helper()
		if got, err := standing.Call(t.Context(), port.Advertised(), "who", nil); err != nil || string(got) != "n2" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	ask()
	old, _ := n1.Ends()
	w.files("n1", certs.Name{Node: "n1"}, 90*24*time.Hour)
	eventually(t, "the new certificate is in use", func() bool {
		if _, err := call(t, wire.Options{WrapDialled: n2.Dialled}, port.Advertised()); err != nil {
			t.Fatal(err)
		}
		now, _ := n1.Ends()
		return now.After(old)
	})
	ask()
}

// An expired certificate is replaced while the node runs.
func TestExpiredCertificateIsReplaced(t *testing.T) {
	w := newWorld(t, "demo")
	n1 := w.node("n1", 90*24*time.Hour)
	said := &lines{}
	n2, err := certs.Open(w.files("n2", certs.Name{Node: "n2"}, -time.Minute), hclog.New(&hclog.LoggerOptions{Output: said}))
	if err != nil {
		t.Fatal(err)
	}
	again := run(t, n2)
	eventually(t, "the log says so", func() bool { return strings.Contains(said.String(), "n2.crt ended") })
	port := peerPort(t, n1, &lines{})
	if p := n2.Problems(time.Now()); len(p) != 1 || !strings.Contains(p[0], "ended") {
		t.Errorf("problems %q", p)
	}
	if _, err := call(t, wire.Options{WrapDialled: n2.Dialled}, port.Advertised()); err == nil || !strings.Contains(err.Error(), "does not take this node's certificate") {
		t.Errorf("got %v", err)
	}
	w.files("n2", certs.Name{Node: "n2"}, 90*24*time.Hour)
	again <- nil
	eventually(t, "it may come in", func() bool {
		_, err := call(t, wire.Options{WrapDialled: n2.Dialled}, port.Advertised())
		return err == nil && len(n2.Problems(time.Now())) == 0
	})
}

// A new authority takes over while both are trusted.
func TestNewAuthorityInOverlap(t *testing.T) {
	before, after := newWorld(t, "demo"), newWorld(t, "demo")
	n1 := before.node("n1", time.Hour)
	again := run(t, n1)
	port := peerPort(t, n1, &lines{})
	newcomer := after.files("n2", certs.Name{Node: "n2"}, time.Hour)
	both := append(read(t, before.dir+"/ca.crt"), read(t, after.dir+"/ca.crt")...)
	if err := os.WriteFile(newcomer.CA, both, 0o600); err != nil {
		t.Fatal(err)
	}
	n2, err := certs.Open(newcomer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, wire.Options{WrapDialled: n2.Dialled}, port.Advertised()); err == nil {
		t.Error("a certificate of an unknown authority was taken")
	}
	if err := os.WriteFile(before.dir+"/ca.crt", both, 0o600); err != nil {
		t.Fatal(err)
	}
	again <- nil
	eventually(t, "the new authority counts", func() bool {
		_, err := call(t, wire.Options{WrapDialled: n2.Dialled}, port.Advertised())
		return err == nil
	})
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Files that can't be used are told about, and the old ones stay.
func TestBadNewFiles(t *testing.T) {
	w := newWorld(t, "demo")
	n1 := w.node("n1", 90*24*time.Hour)
	again := run(t, n1)
	for _, c := range []struct {
		want string
		put  func()
	}{
		{"no certificate in it", func() { _ = os.WriteFile(w.dir+"/ca.crt", []byte("x"), 0o600) }},
		{"of cluster demo, this is node n1", func() {
			if err := w.Save(w.dir, true); err != nil {
				t.Fatal(err)
			}
			f := w.files("n9", certs.Name{Node: "n9"}, time.Hour)
			_ = os.Rename(f.Cert, w.dir+"/n1.crt")
			_ = os.Rename(f.Key, w.dir+"/n1.key")
		}},
		{"private key does not match", func() {
			f := w.files("n8", certs.Name{Node: "n1"}, time.Hour)
			_ = os.Rename(f.Cert, w.dir+"/n1.crt")
		}},
	} {
		c.put()
		again <- nil
		eventually(t, c.want, func() bool { return strings.Contains(strings.Join(n1.Problems(time.Now()), "\n"), c.want) })
		if n1.Name().Node != "n1" {
			t.Errorf("it is %v now", n1.Name())
		}
	}
	w.files("n1", certs.Name{Node: "n1"}, 80*24*time.Hour)
	again <- nil
	eventually(t, "all is well", func() bool { return len(n1.Problems(time.Now())) == 0 })
}

func TestNodesNeedANodesCertificate(t *testing.T) {
	w := newWorld(t, "demo")
	for want, f := range map[string]certs.Files{
		"a node needs one for a node":     w.files("alice", certs.Name{Role: fsm.RoleCluster, Person: "alice"}, time.Hour),
		"is none of a node or a role":     {Cert: w.dir + "/ca.crt", Key: w.dir + "/ca.key", CA: w.dir + "/ca.crt"},
		"nowhere.crt":                     {Cert: w.dir + "/nowhere.crt", Key: w.dir + "/ca.key", CA: w.dir + "/ca.crt"},
		"ca.key: no certificate in it":    {Cert: w.dir + "/n1.crt", Key: w.dir + "/n1.key", CA: w.dir + "/ca.key"},
		"alice.key: tls: private key doe": {Cert: w.dir + "/n1.crt", Key: w.dir + "/alice.key", CA: w.dir + "/ca.crt"},
	} {
		w.files("n1", certs.Name{Node: "n1"}, time.Hour)
		if _, err := certs.Open(f, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWarnsBeforeTheEnd(t *testing.T) {
	w := newWorld(t, "demo")
	n1 := w.node("n1", 15*24*time.Hour)
	for days, want := range map[int]string{0: "", 2: "ends", 16: "ended"} {
		got := strings.Join(n1.Problems(time.Now().Add(time.Duration(days)*24*time.Hour)), "\n")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("after %d days: got %q, want %q", days, got, want)
		}
	}
}
