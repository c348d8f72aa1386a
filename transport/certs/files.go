package certs

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of the authority's files in its directory.
const (
	AuthorityCert = "ca.crt"
	AuthorityKey  = "ca.key"
)

// Save writes the authority's two files into a directory, which is made if
// it is missing. Files that exist are kept, and an error, unless force is set.
func (a *Authority) Save(dir string, force bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return (&Pair{a.Cert, a.Key}).Save(filepath.Join(dir, AuthorityCert), filepath.Join(dir, AuthorityKey), force)
}

// LoadAuthority reads what Save wrote.
func LoadAuthority(dir string) (*Authority, error) {
	certFile, keyFile := filepath.Join(dir, AuthorityCert), filepath.Join(dir, AuthorityKey)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no authority in %s (%w): make one with `floe cert ca`", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", certFile, keyFile, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	cluster := ""
	for _, u := range pair.Leaf.URIs {
		if u.Scheme == scheme && u.Path == "/authority" {
			cluster = u.Host
		}
	}
	if !ok || !pair.Leaf.IsCA || !validPart.MatchString(cluster) {
		return nil, fmt.Errorf("%s is no authority that floe made", certFile)
	}
	return &Authority{Cluster: cluster, Cert: pair.Leaf, Key: key}, nil
}

// Save writes certificate and key, only readable by their owner. Files that
// exist are kept, and an error, unless force is set.
func (p *Pair) Save(certFile, keyFile string, force bool) error {
	key, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return err
	}
	for _, name := range []string{certFile, keyFile} {
		if _, err := os.Lstat(name); err == nil && !force {
			return fmt.Errorf("%s exists; nothing was written. --force writes over it", name)
		}
	}
	if err := write(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})); err != nil {
		return err
	}
	return write(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Cert.Raw}))
}

// write puts a whole file in place, so that a node that looks at it just
// then sees the old one or the new one.
func write(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".floe-cert-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone by then, if all went well
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.Rename(f.Name(), name)
}

// ReadCertificates reads all certificates of a PEM file, one at least.
func ReadCertificates(name string) ([]*x509.Certificate, error) {
	rest, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no certificate in it", name)
	}
	return all, nil
}
