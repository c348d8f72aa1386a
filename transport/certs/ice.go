package certs

import (
	"crypto/tls"

	"github.com/hashicorp/go-hclog"
)

// OpenIce reads the files of Ice over ssl. Who holds such certificates need
// not have a name of floe's in them. Either the certificate with its key or
// the authorities may be missing ("").
func OpenIce(files Files, log hclog.Logger) (*Source, error) { return open(files, log, true) }

// IceServer returns the settings of a listener for Ice programs. With ask,
// programs that have a certificate are asked for it, and one of other
// authorities ends the connection; those that have none may come in. The
// source needs a certificate, and authorities for ask.
func (s *Source) IceServer(ask bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			h := s.current.Load()
			config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{h.pair}, SessionTicketsDisabled: true}
			if ask {
				config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, h.pool
			}
			return config, nil
		},
	}
}

// IceClient returns the settings by which Ice programs are called from now
// on, until files change. They have to show a certificate of the source's
// authorities, or of those of other clusters, for the host that is called. The
// source needs authorities.
func (s *Source) IceClient() *tls.Config {
	h := s.current.Load()
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    h.known,
		GetClientCertificate: func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if h.pair.Leaf != nil && asked.SupportsCertificate(&h.pair) == nil {
				return &h.pair, nil
			}
			return &tls.Certificate{}, nil // none is sent: it would be refused
		},
	}
}
