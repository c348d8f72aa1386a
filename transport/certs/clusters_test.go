package certs_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"floe/transport/certs"
	"floe/transport/wire"
)

// far makes the certificate of a node that knows authorities of other clusters.
func (w *world) far(t *testing.T, id, clusters string) *certs.Source {
	t.Helper()
	f := w.files(id, certs.Name{Node: id}, time.Hour)
	f.Clusters = clusters
	s, err := certs.Open(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func federated(s *certs.Source) wire.Options {
	return wire.Options{WrapDialled: s.Dialled, WrapAccepted: s.Accepted, Abroad: func(method string) bool { return method == "ask" }}
}

// A node of another cluster, by an authority that was named, may call what is
// open to other clusters and nothing else, and is called for nothing else: no
// other method, no stream, neither Raft nor gossip. Who was not named stays out.
func TestNodesOfOtherClusters(t *testing.T) {
	west, east, third := newWorld(t, "west"), newWorld(t, "east"), newWorld(t, "third")
	ca := func(w *world) string { return w.dir + "/" + certs.AuthorityCert }
	w, e := west.far(t, "n1", ca(east)), east.far(t, "n1", ca(west))
	opts := federated(e)
	port, err := wire.Listen(wire.Config{Options: opts, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	port.Serve(func(_ context.Context, from net.Addr, method string, _ []byte) ([]byte, error) {
		return []byte(method + " by " + from.(interface{ NodeID() string }).NodeID()), nil
	})
	port.ServeStreams(func(_ context.Context, s *wire.Stream) { _ = s.WriteFrame([]byte("come in")) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := port.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	at := port.Advertised()
	ask := func(o wire.Options, method string) (string, error) {
		c := wire.NewClient(o)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		b, err := c.Call(ctx, at, method, nil)
		return string(b), err
	}
	if got, err := ask(federated(w), "ask"); got != "ask by n1" || err != nil {
		t.Errorf("what is open: got %q, %v", got, err)
	}
	if got, err := ask(federated(w), "join"); err == nil || !strings.Contains(err.Error(), "of another cluster") {
		t.Errorf("the caller calls what is not open: got %q, %v", got, err)
	}
	lax := federated(w)
	lax.Abroad = func(string) bool { return true }
	if got, err := ask(lax, "join"); err == nil || !strings.Contains(err.Error(), "of another cluster") {
		t.Errorf("the called one answers what is not open: got %q, %v", got, err)
	}
	c := wire.NewClient(federated(w))
	defer c.Close()
	if s, err := c.OpenStream(t.Context(), at, "events", nil); err == nil {
		if _, err = s.ReadFrame(); err == nil {
			t.Error("a stream to another cluster")
		}
		_ = s.Close()
	}
	if own, err := ask(federated(east.far(t, "n2", "")), "join"); own != "join by n2" || err != nil {
		t.Errorf("a node of the cluster: got %q, %v", own, err)
	}
	if _, err := ask(federated(third.far(t, "n1", ca(east))), "ask"); err == nil || !strings.Contains(err.Error(), "does not take this node's certificate") {
		t.Errorf("a cluster that was not named: %v", err)
	}
	if _, err := ask(federated(west.far(t, "n3", "")), "ask"); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a cluster that did not name us: %v", err)
	}
	// An authority of another cluster makes no nodes of this one.
	forger := &world{t, west.dir, &certs.Authority{Cluster: "east", Cert: west.Cert, Key: west.Key}}
	if _, err := ask(clientOf(t, forger.files("n2", certs.Name{Node: "n2"}, time.Hour), tls.VersionTLS13), "ask"); err == nil || !strings.Contains(err.Error(), "bad certificate") {
		t.Errorf("a forged node of this cluster: %v", err)
	}
}
