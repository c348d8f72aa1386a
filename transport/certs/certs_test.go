package certs

import (
	"crypto/x509"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/fsm"
)

func authority(t *testing.T, cluster string) *Authority {
	t.Helper()
	a, err := NewAuthority(cluster, time.Now(), AuthorityLife)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *Authority, n Name, life time.Duration) *Pair {
	t.Helper()
	p, err := a.Issue(n, []string{"127.0.0.1", "n.example"}, time.Now(), life)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNamesComeBack(t *testing.T) {
	a := authority(t, "demo")
	for _, want := range []Name{
		{Cluster: "demo", Node: "n1", Person: "n1"},
		{Cluster: "demo", Role: fsm.RoleOperate, Person: "alice"},
	} {
		got, err := NameOf(issue(t, a, want, time.Hour).Cert)
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, uris := range [][]string{
		{}, {"https://demo/node/n1"}, {"floe://demo/node/"}, {"floe://demo/node/n1/x"}, {"floe://demo/role/root"}, {"floe://demo/node/n%201"},
		{"floe://u@demo/node/n1"}, {"floe://demo/node/n1?x"}, {"floe:///node/n1"}, {"floe://demo/node/n1", "floe://demo/node/n2"}, {"floe://demo/authority"}, {"floe://demo:1/node/n1"},
	} {
		cert := &x509.Certificate{}
		for _, text := range uris {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			cert.URIs = append(cert.URIs, u)
		}
		if got, err := NameOf(cert); err == nil {
			t.Errorf("%q: got %+v", uris, got)
		}
	}
}

func TestFilesAreSecretAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	a := authority(t, "demo")
	if err := a.Save(dir, false); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, AuthorityKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := authority(t, "demo").Save(dir, false); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, AuthorityKey)); string(after) != string(before) {
		t.Error("the key was written over")
	}
	for _, name := range []string{AuthorityCert, AuthorityKey} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("files left behind: %v", files)
	}
	back, err := LoadAuthority(dir)
	if err != nil || back.Cluster != "demo" || !back.Cert.Equal(a.Cert) {
		t.Errorf("got %+v, %v", back, err)
	}
	if err := authority(t, "demo").Save(dir, true); err != nil {
		t.Error(err)
	}
}

func TestIssuedIsNoAuthority(t *testing.T) {
	dir := t.TempDir()
	p := issue(t, authority(t, "demo"), Name{Node: "n1"}, time.Hour)
	if err := p.Save(filepath.Join(dir, AuthorityCert), filepath.Join(dir, AuthorityKey), false); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAuthority(dir); err == nil {
		t.Error("a node's certificate was taken for an authority")
	}
}
