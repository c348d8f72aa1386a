package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"time"
)

// Lifetimes of what is made here unless told otherwise.
const (
	AuthorityLife   = 10 * 365 * 24 * time.Hour
	CertificateLife = 365 * 24 * time.Hour
)

// backdate is how much earlier than now a certificate begins, for clocks
// that differ.
const backdate = 5 * time.Minute

// Authority makes the certificates of one cluster. Whoever has its key can
// become any node of the cluster.
type Authority struct {
	Cluster string
	Cert    *x509.Certificate
	Key     *ecdsa.PrivateKey
}

// Pair is a certificate with its key.
type Pair struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority for a cluster of that name; now is when it
// begins to be good.
func NewAuthority(cluster string, now time.Time, life time.Duration) (*Authority, error) {
	if !validPart.MatchString(cluster) {
		return nil, Name{Cluster: cluster}.Check()
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "floe authority of " + cluster},
		URIs:                  []*url.URL{{Scheme: scheme, Host: cluster, Path: "/authority"}},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	pair, err := make509(template, nil, now, life)
	if err != nil {
		return nil, err
	}
	return &Authority{Cluster: cluster, Cert: pair.Cert, Key: pair.Key}, nil
}

// Issue makes a certificate. hosts are the names and addresses that browsers
// and Ice programs reach a node by; nodes and the command line go by its id.
func (a *Authority) Issue(name Name, hosts []string, now time.Time, life time.Duration) (*Pair, error) {
	name.Cluster = a.Cluster
	if err := name.Check(); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name.Person},
		URIs:        []*url.URL{name.URI()},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if name.Node != "" {
		template.Subject.CommonName = name.Node
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, h)
	}
	if end := now.Add(life); end.After(a.Cert.NotAfter) {
		return nil, fmt.Errorf("a certificate until %s would outlive its authority, which ends %s", day(end), day(a.Cert.NotAfter))
	}
	return make509(template, a, now, life)
}

// make509 makes a key and a certificate for it, signed by the authority, or
// by itself where there is none.
func make509(template *x509.Certificate, by *Authority, now time.Time, life time.Duration) (*Pair, error) {
	if life <= 0 {
		return nil, errors.New("a certificate needs a lifetime above zero")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(life)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Cert, by.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Pair{Cert: cert, Key: key}, nil
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }
