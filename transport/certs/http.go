package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Server returns the settings of a listener for people and programs. They
// need no certificate, but one they show has to be of this cluster.
func (s *Source) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			h := s.current.Load()
			return &tls.Config{
				MinVersion:             tls.VersionTLS13,
				Certificates:           []tls.Certificate{h.pair},
				ClientAuth:             tls.VerifyClientCertIfGiven,
				ClientCAs:              h.pool,
				SessionTicketsDisabled: true,
				VerifyConnection: func(state tls.ConnectionState) error {
					if len(state.PeerCertificates) == 0 {
						return nil
					}
					return h.ours(state.PeerCertificates[0])
				},
			}, nil
		},
	}
}

// ours checks that a certificate is of our cluster.
func (h *held) ours(cert *x509.Certificate) error {
	name, err := NameOf(cert)
	if err != nil {
		return err
	}
	if name.Cluster != h.name.Cluster {
		return fmt.Errorf("the certificate is of cluster %s, this is %s", name.Cluster, h.name.Cluster)
	}
	return nil
}

// Client returns the settings of somebody who asks nodes. Cert and Key may
// both be empty. A server has to show the certificate of a node, of the same
// cluster where we have a certificate ourselves; where it names none, it has to
// be for the host name that was asked, as a proxy's is; an address is no name.
func Client(files Files) (*tls.Config, error) {
	authorities, err := ReadCertificates(files.CA)
	if err != nil {
		return nil, err
	}
	h := &held{pool: x509.NewCertPool()}
	for _, cert := range authorities {
		h.pool.AddCert(cert)
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // of the host's name only: see VerifyConnection
	}
	if files.Cert != "" {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", files.Cert, files.Key, err)
		}
		if h.name, err = NameOf(pair.Leaf); err != nil {
			return nil, fmt.Errorf("%s: %w", files.Cert, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := h.verifyServer(state); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
	return config, nil
}

func (h *held) verifyServer(state tls.ConnectionState) error {
	if err := h.verify(state.PeerCertificates, x509.ExtKeyUsageServerAuth); err != nil {
		return err
	}
	name, err := NameOf(state.PeerCertificates[0])
	switch {
	case errors.Is(err, ErrNoName):
		return state.PeerCertificates[0].VerifyHostname(state.ServerName)
	case err != nil:
		return err
	case name.Node == "":
		return fmt.Errorf("the server's certificate is for %s, not for a node", name)
	case h.name.Cluster != "" && h.name.Cluster != name.Cluster:
		return fmt.Errorf("the server is of cluster %s, your certificate of %s", name.Cluster, h.name.Cluster)
	}
	return nil
}
