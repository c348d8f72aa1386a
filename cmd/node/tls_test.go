package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/transport/certs"
	"floe/transport/wire"
)

// madeCerts makes an authority and certificates of nodes, and a secret for gossip.
func madeCerts(t *testing.T, ids ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, args := range append([][]string{{"ca", "--cluster", "demo"}}, each(ids, func(id string) []string { return []string{"node", "--id", id} })...) {
		if code, _, errs := runFloe(t, nil, append([]string{"cert", "--dir", dir}, args...)...); code != 0 {
			t.Fatal(errs)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func each[A, B any](list []A, f func(A) B) []B {
	var out []B
	for _, a := range list {
		out = append(out, f(a))
	}
	return out
}

// tlsFlags are those of a node with certificates.
func tlsFlags(dir, id string) []string {
	return []string{"--metrics", "127.0.0.1:0", "--tls-ca", dir + "/ca.crt", "--tls-cert", dir + "/" + id + ".crt", "--tls-key", dir + "/" + id + ".key", "--gossip-key-file", dir + "/secret"}
}

// A stream of events is refused where its node claims another id than its certificate.
func TestStreamsAreBoundToCertificates(t *testing.T) {
	dir := madeCerts(t, "n1", "n2")
	r, _ := start(t, append(tlsFlags(dir, "n1"), "--id", "n1")...)
	peer, _ := r.out.await(`listening for peer +(\S+)`, nil)
	n2, err := certs.Open(certs.Files{Cert: dir + "/n2.crt", Key: dir + "/n2.key", CA: dir + "/ca.crt"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := wire.NewClient(wire.Options{WrapDialled: n2.Dialled})
	defer c.Close()
	for claimed, refused := range map[string]bool{"n3": true, "n2": false} {
		s, err := c.OpenStream(t.Context(), peer, eventStream, helloBytes(claimed, "no such cluster"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.ReadFrame()
		_ = s.Close()
		if err == nil || strings.Contains(err.Error(), "says that it is node n3") != refused {
			t.Errorf("as %s: got %v", claimed, err)
		}
	}
}
