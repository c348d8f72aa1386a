package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"
)

// overTLS puts both ends under TLS with one certificate for both.
func overTLS(t *testing.T) Options {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	certs := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}
	return Options{
		HandshakeTimeout: 300 * time.Millisecond,
		WrapAccepted: func(nc net.Conn) net.Conn {
			return tls.Server(nc, &tls.Config{Certificates: certs, ClientCAs: pool, ClientAuth: tls.RequireAnyClientCert})
		},
		WrapDialled: func(nc net.Conn, address string) net.Conn {
			host, _, _ := net.SplitHostPort(address)
			return tls.Client(nc, &tls.Config{Certificates: certs, RootCAs: pool, ServerName: host})
		},
	}
}

func TestTLSFitsUnderTheSeam(t *testing.T) {
	opts := overTLS(t)
	opts.HandshakeTimeout = 10 * time.Second // both sides work on this machine
	server, caller := listen(t, Config{Options: opts}), listen(t, Config{Options: opts})
	server.Serve(echo)
	server.ServeStreams(stay)
	want := bytes.Repeat([]byte("x"), 1<<20)
	got, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", want)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
	s := openStream(t, caller.Client(), server)
	if err := s.WriteFrame(want); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestPlainClientAtATLSPort(t *testing.T) {
	server, caller := listen(t, Config{Options: overTLS(t)}), listen(t, Config{})
	server.Serve(echo)
	_, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	silent := dialRaw(t, server)
	if err := drained(silent); err != nil {
		t.Errorf("silent connection not closed: %v", err)
	}
	eventually(t, "both counted", func() bool { return server.BadInput() == 2 })
}
