package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// Conn is a connection between two nodes. Once bytes have gone over it, the
// node id of its other end is known.
type Conn struct {
	*tls.Conn
	node   atomic.Pointer[string]
	abroad atomic.Bool
}

// Abroad tells, once bytes have gone over it, whether the other end is a node
// of another cluster.
func (c *Conn) Abroad() bool { return c.abroad.Load() }

// Addr is the address of the other end, with the id in its certificate.
type Addr struct {
	net.Addr
	node string
}

// NodeID is the id that the certificate names, which nobody else can claim.
func (a Addr) NodeID() string { return a.node }

// RemoteAddr is an [Addr] once the other end is known.
func (c *Conn) RemoteAddr() net.Addr {
	if node := c.node.Load(); node != nil {
		return Addr{c.Conn.RemoteAddr(), *node}
	}
	return c.Conn.RemoteAddr()
}

// Read reads, and tells in words when the other end does not like our
// certificate.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // an alert; its type is not exported
		err = fmt.Errorf("%s does not take this node's certificate: %w", c.Conn.RemoteAddr(), err)
	}
	return n, err
}

// Dialled puts TLS on a connection to another node. Nodes know each other by
// the ids in their certificates, not by where they are.
func (s *Source) Dialled(nc net.Conn, _ string) net.Conn {
	h, c := s.current.Load(), &Conn{}
	c.Conn = tls.Client(nc, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{h.pair},
		InsecureSkipVerify: true, // of the host's name only: see VerifyConnection
		VerifyConnection:   func(state tls.ConnectionState) error { return c.meet(h, state, x509.ExtKeyUsageServerAuth) },
	})
	return c
}

// Accepted puts TLS on a connection that another node has to have opened.
func (s *Source) Accepted(nc net.Conn) net.Conn {
	h, c := s.current.Load(), &Conn{}
	c.Conn = tls.Server(nc, &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{h.pair},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              h.known,
		SessionTicketsDisabled: true,
		VerifyConnection:       func(state tls.ConnectionState) error { return c.meet(h, state, x509.ExtKeyUsageClientAuth) },
	})
	return c
}

// meet checks whose certificate the other end shows. One of our cluster has to
// be of our authorities; those of other clusters answer for other clusters alone.
func (c *Conn) meet(h *held, state tls.ConnectionState, usage x509.ExtKeyUsage) error {
	chain := state.PeerCertificates
	err := h.verify(chain, usage)
	far := err != nil && verify(h.far, chain, usage) == nil
	if err != nil && !far {
		return &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err}
	}
	name, err := NameOf(chain[0])
	switch {
	case err != nil:
		return err
	case far && name.Cluster == h.name.Cluster:
		return fmt.Errorf("the certificate is of cluster %s, as this one, but of an authority of other clusters", name.Cluster)
	case !far && name.Cluster != h.name.Cluster:
		return fmt.Errorf("the certificate is of cluster %s, this is %s", name.Cluster, h.name.Cluster)
	case name.Node == "":
		return fmt.Errorf("the certificate is for %s, and only nodes may come here", name)
	}
	c.abroad.Store(far)
	c.node.Store(&name.Node)
	return nil
}
