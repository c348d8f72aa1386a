package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// WarnBefore is how long before its end a certificate becomes a problem.
const WarnBefore = 14 * 24 * time.Hour

// pollEvery is how often the files are looked at.
const pollEvery = 2 * time.Second

// Files are where a holder's certificate, its key and the authorities of its
// cluster stand, in PEM. Clusters holds the authorities of other clusters that
// may ask for topics and link to them, "" for none.
type Files struct{ Cert, Key, CA, Clusters string }

// Source is what the files hold, read anew when they change. Connections
// take what it holds when they are made. Safe for concurrent use.
type Source struct {
	files   Files
	ice     bool // see OpenIce
	log     hclog.Logger
	current atomic.Pointer[held]
	poll    time.Duration

	mu      sync.Mutex // of reloading
	read    stamps     // of the files when they were read last
	failing error      // why those that are there now were not taken
	pending stamps     // what did not fit when it was looked at last
}

// held is what was read at one time. It never changes.
type held struct {
	pair        tls.Certificate
	name        Name
	authorities []*x509.Certificate
	pool        *x509.CertPool
	far         *x509.CertPool // authorities of other clusters; may be empty
	known       *x509.CertPool // both
}

// Open reads the files of a node. Its certificate has to name one.
func Open(files Files, log hclog.Logger) (*Source, error) {
	s, err := open(files, log, false)
	if err == nil && s.Name().Node == "" {
		return nil, fmt.Errorf("%s is for %s, and a node needs one for a node", files.Cert, s.Name())
	}
	return s, err
}

func open(files Files, log hclog.Logger, ice bool) (*Source, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	s := &Source{files: files, ice: ice, log: log, poll: pollEvery, read: files.stamps()}
	h, err := s.load()
	if err != nil {
		return nil, err
	}
	s.current.Store(h)
	return s, nil
}

// load reads the files. Only those of Ice may be missing, or hold no name.
func (s *Source) load() (*held, error) {
	h, f, err := &held{pool: x509.NewCertPool(), far: x509.NewCertPool(), known: x509.NewCertPool()}, s.files, error(nil)
	if f.Cert != "" || !s.ice {
		if h.pair, err = tls.LoadX509KeyPair(f.Cert, f.Key); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", f.Cert, f.Key, err)
		}
	}
	if !s.ice {
		if h.name, err = NameOf(h.pair.Leaf); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Cert, err)
		}
	}
	if f.CA != "" || !s.ice {
		if h.authorities, err = ReadCertificates(f.CA); err != nil {
			return nil, err
		}
	}
	for _, cert := range h.authorities {
		h.pool.AddCert(cert)
		h.known.AddCert(cert)
	}
	if f.Clusters == "" {
		return h, nil
	}
	far, err := ReadCertificates(f.Clusters)
	if err != nil {
		return nil, err
	}
	for _, cert := range far {
		h.far.AddCert(cert)
		h.known.AddCert(cert)
	}
	return h, nil
}

// Name says whom the certificate is for.
func (s *Source) Name() Name { return s.current.Load().name }

// Ends returns when the certificate ends, and when the first of the
// authorities does; zero for what there is none of.
func (s *Source) Ends() (cert, authority time.Time) {
	h := s.current.Load()
	for _, a := range h.authorities {
		if authority.IsZero() || a.NotAfter.Before(authority) {
			authority = a.NotAfter
		}
	}
	if h.pair.Leaf != nil {
		cert = h.pair.Leaf.NotAfter
	}
	return cert, authority
}

// Problems says what is wrong with the certificates, or will be soon.
func (s *Source) Problems(now time.Time) []string {
	out := s.endings(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		out = append(out, fmt.Sprintf("the new certificate files can't be used, the old ones stay in use: %v", s.failing))
	}
	return out
}

// endings says what ended, or will soon.
func (s *Source) endings(now time.Time) (out []string) {
	cert, authority := s.Ends()
	for _, x := range []struct {
		what string
		end  time.Time
	}{{"the certificate " + s.files.Cert, cert}, {"an authority in " + s.files.CA, authority}} {
		switch left := x.end.Sub(now); {
		case x.end.IsZero():
		case left <= 0:
			out = append(out, fmt.Sprintf("%s ended %s; put a new one in its place", x.what, x.end.UTC().Format(time.RFC3339)))
		case left < WarnBefore:
			out = append(out, fmt.Sprintf("%s ends %s; put a new one in its place before", x.what, x.end.UTC().Format(time.RFC3339)))
		}
	}
	return out
}

// Run looks at the files every two seconds, and at once when again says so,
// until ctx ends. The log has a line when something ended or will soon.
func (s *Source) Run(ctx context.Context, again <-chan os.Signal) {
	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	var said []string
	for {
		endings := s.endings(time.Now())
		for _, text := range endings {
			if !slices.Contains(said, text) {
				s.log.Error("certificate", "what", text)
			}
		}
		said = endings
		select {
		case <-ctx.Done():
			return
		case <-again:
			s.look(true)
		case <-tick.C:
			s.look(false)
		}
	}
}

// look takes files that changed. As certificate and key are replaced one
// after the other, what does not fit is only an error when it has not
// changed by the next look, or when somebody asked.
func (s *Source) look(asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.files.stamps()
	if now == s.read && !asked {
		return
	}
	err := s.take()
	switch {
	case err == nil:
		s.read, s.failing = now, nil
		cert, _ := s.Ends()
		s.log.Info("certificate files were read again", "certificate", s.files.Cert, "authorities", s.files.CA, "ends", cert.UTC().Format(time.RFC3339))
	case asked || now == s.pending:
		s.read, s.failing = now, err
		s.log.Error("new certificate files can't be used, the old ones stay in use", "error", err)
	}
	s.pending = now
}

// take makes what the files hold the current.
func (s *Source) take() error {
	h, err := s.load()
	if err != nil {
		return err
	}
	if old := s.Name(); h.name.Cluster != old.Cluster || h.name.Node != old.Node {
		return fmt.Errorf("%s is for %s of cluster %s, this is %s of cluster %s", s.files.Cert, h.name, h.name.Cluster, old, old.Cluster)
	}
	s.current.Store(h)
	return nil
}

// stamps tell whether files changed.
type stamps [4]struct {
	changed, size int64
	missing       bool
}

func (f Files) stamps() stamps {
	var out stamps
	for i, name := range []string{f.Cert, f.Key, f.CA, f.Clusters} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			out[i].missing = true
			continue
		}
		out[i].changed, out[i].size = info.ModTime().UnixNano(), info.Size()
	}
	return out
}

// verify checks that a chain leads to one of the authorities, for one usage.
func (h *held) verify(chain []*x509.Certificate, usage x509.ExtKeyUsage) error {
	return verify(h.pool, chain, usage)
}

func verify(roots *x509.CertPool, chain []*x509.Certificate, usage x509.ExtKeyUsage) error {
	if len(chain) == 0 {
		return errors.New("no certificate was sent")
	}
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}
