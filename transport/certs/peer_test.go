package certs_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/transport/certs"
	"floe/transport/wire"
)

// world is an authority and a directory for what it makes.
type world struct {
	t   *testing.T
	dir string
	*certs.Authority
}

func newWorld(t *testing.T, cluster string) *world {
	t.Helper()
	a, err := certs.NewAuthority(cluster, time.Now().Add(-30*24*time.Hour), certs.AuthorityLife)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, t.TempDir(), a}
	if err := a.Save(w.dir, false); err != nil {
		t.Fatal(err)
	}
	return w
}

// files makes the files of a holder whose certificate ends after so long.
func (w *world) files(file string, n certs.Name, ends time.Duration) certs.Files {
	w.t.Helper()
	begin := time.Now().Add(-24 * time.Hour)
	pair, err := w.Issue(n, nil, begin, 24*time.Hour+ends)
	if err != nil {
		w.t.Fatal(err)
	}
	f := certs.Files{Cert: filepath.Join(w.dir, file+".crt"), Key: filepath.Join(w.dir, file+".key"), CA: filepath.Join(w.dir, certs.AuthorityCert)}
	if err := pair.Save(f.Cert, f.Key, true); err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) node(id string, ends time.Duration) *certs.Source {
	w.t.Helper()
	s, err := certs.Open(w.files(id, certs.Name{Node: id}, ends), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// lines is a log that can be read.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func peerPort(t *testing.T, s *certs.Source, log io.Writer) *wire.Port {
	t.Helper()
	opts := wire.Options{WrapDialled: s.Dialled, WrapAccepted: s.Accepted}
	p, err := wire.Listen(wire.Config{Options: opts, Bind: "127.0.0.1:0", Log: hclog.New(&hclog.LoggerOptions{Output: log})})
	if err != nil {
		t.Fatal(err)
	}
	p.Serve(func(_ context.Context, from net.Addr, _ string, _ []byte) ([]byte, error) {
		id, ok := from.(interface{ NodeID() string })
		if !ok {
			return nil, errors.New("nobody knows who called")
		}
		return []byte(id.NodeID()), nil
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

func call(t *testing.T, opts wire.Options, address string) (string, error) {
	t.Helper()
	c := wire.NewClient(opts)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b, err := c.Call(ctx, address, "who", nil)
	return string(b), err
}

// clientOf dials with a certificate that Open would not take.
func clientOf(t *testing.T, f certs.Files, version uint16) wire.Options {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return wire.Options{WrapDialled: func(nc net.Conn, _ string) net.Conn { return tls.Client(nc, config) }}
}

// Whoever is no node of this cluster is refused, and the log says who and why.
func TestStrangersAtThePeerPort(t *testing.T) {
	here, there := newWorld(t, "demo"), newWorld(t, "demo")
	other := &world{t, here.dir, &certs.Authority{Cluster: "other", Cert: here.Cert, Key: here.Key}}
	for _, c := range []struct{ name, reason, caller string }{
		{"good", "", ""},
		{"wrong CA", "unknown authority", "unknown certificate authority"},
		{"expired", "expired", "expired certificate"},
		{"client role", "only nodes may come here", "bad certificate"},
		{"other cluster", "of cluster other, this is demo", "bad certificate"},
		{"no certificate", "didn't provide a certificate", "certificate required"},
		{"TLS 1.2", "unsupported versions", "protocol version"},
		{"TLS 1.1", "unsupported versions", "protocol version"},
		{"plain", "not look like a TLS handshake", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &lines{}
			port := peerPort(t, here.node("n1", time.Hour), log)
			var opts wire.Options
			switch c.name {
			case "good":
				s := here.node("n2", time.Hour)
				opts = wire.Options{WrapDialled: s.Dialled}
			case "wrong CA":
				opts = clientOf(t, there.files("n2", certs.Name{Node: "n2"}, time.Hour), tls.VersionTLS13)
			case "expired":
				opts = clientOf(t, here.files("n2", certs.Name{Node: "n2"}, -time.Hour), tls.VersionTLS13)
			case "client role":
				opts = clientOf(t, here.files("alice", certs.Name{Role: fsm.RoleCluster, Person: "alice"}, time.Hour), tls.VersionTLS13)
			case "other cluster":
				opts = clientOf(t, other.files("o2", certs.Name{Node: "n2"}, time.Hour), tls.VersionTLS13)
			case "no certificate":
				opts = clientOf(t, certs.Files{}, tls.VersionTLS13)
			case "TLS 1.2", "TLS 1.1":
				version := map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.1": tls.VersionTLS11}[c.name]
				opts = clientOf(t, here.files("n2", certs.Name{Node: "n2"}, time.Hour), version)
			}
			who, err := call(t, opts, port.Advertised())
			if c.name == "good" {
				if err != nil || who != "n2" {
					t.Errorf("got %q, %v", who, err)
				}
				return
			}
			var notSent *wire.NotSentError
			if !errors.As(err, &notSent) || !strings.Contains(err.Error(), c.caller) {
				t.Errorf("the caller got %v, want one that says %q", err, c.caller)
			}
			until := time.Now().Add(20 * time.Second)
			for !strings.Contains(log.String(), c.reason) && time.Now().Before(until) {
				time.Sleep(time.Millisecond)
			}
			if line := log.String(); !strings.Contains(line, c.reason) || !strings.Contains(line, "peer=127.0.0.1:") {
				t.Errorf("log %q, want one with the peer and %q", line, c.reason)
			}
		})
	}
}

// A node takes no answer from somebody who is no node of its cluster.
func TestStrangersInThePlaceOfANode(t *testing.T) {
	here, there := newWorld(t, "demo"), newWorld(t, "demo")
	other := &world{t, here.dir, &certs.Authority{Cluster: "other", Cert: here.Cert, Key: here.Key}}
	alice, err := tls.LoadX509KeyPair(pairOf(here.files("alice", certs.Name{Role: fsm.RoleCluster, Person: "alice"}, time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	n1 := here.node("n1", time.Hour)
	for _, c := range []struct {
		name, want string
		accept     func(net.Conn) net.Conn
	}{
		{"wrong CA", "unknown authority", there.node("n2", time.Hour).Accepted},
		{"expired", "expired", here.node("n2", -time.Hour).Accepted},
		{"other cluster", "of cluster other", other.node("o2", time.Hour).Accepted},
		{"a client", "incompatible key usage", func(nc net.Conn) net.Conn {
			return tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{alice}})
		}},
		{"plain", "not look like a TLS handshake", func(nc net.Conn) net.Conn { return nc }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := wire.Listen(wire.Config{Options: wire.Options{WrapAccepted: c.accept}, Bind: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Shutdown(t.Context()) }()
			p.Serve(func(context.Context, net.Addr, string, []byte) ([]byte, error) { return nil, nil })
			_, err = call(t, wire.Options{WrapDialled: n1.Dialled}, p.Advertised())
			if c.name == "plain" { // it closes a connection that does not begin as ours do
				if err == nil {
					t.Error("a plain peer was taken")
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func pairOf(f certs.Files) (cert, key string) { return f.Cert, f.Key }
