package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"floe/cluster"
	"floe/fsm"
	"floe/transport/certs"
)

func certCommands() []*command {
	shared := func(own func(*pflag.FlagSet)) func(*pflag.FlagSet) {
		return func(f *pflag.FlagSet) {
			f.Var(newText("floe-certs"), "dir", "`DIR` of the authority's files and of those that are made")
			f.Bool("force", false, "write over files that exist")
			own(f)
		}
	}
	return []*command{
		{name: "cert", short: "make and show certificates", example: "floe cert ca --dir certs --cluster demo"},
		{name: "ca", parent: "cert", max: 0, local: true,
			short: "make the authority of a cluster",
			long: `Make a certificate authority for one cluster: ca.crt, which every node and client
needs, and ca.key, which makes certificates. Whoever has ca.key can become any node:
keep it off the nodes.`,
			flags: shared(func(f *pflag.FlagSet) {
				f.Var(newText(""), "cluster", "a `NAME` for the cluster, which all of its certificates carry (needed)")
				f.Var(newDuration(certs.AuthorityLife), "valid", "how long it is good")
			}),
			example: "floe cert ca --dir certs --cluster demo",
			run:     runCertCA},
		{name: "node", parent: "cert", max: 0, local: true,
			short: "make the certificate of a node",
			long: `Make certificate and key of one node: ID.crt and ID.key. Nodes know each other by the
id in it, wherever they are; --host is for browsers and Ice programs, which
compare it with the address they use.`,
			flags: shared(func(f *pflag.FlagSet) {
				f.Var(newText(""), "id", "the node's `ID` (needed)")
				f.Var(&list{kind: "host"}, "host", "a `NAME` or address of the node; may be repeated")
				f.Var(newDuration(certs.CertificateLife), "valid", "how long it is good")
			}),
			example: "floe cert node --dir certs --id n1 --host 10.0.0.1 --host n1.example.net",
			run:     runCertNode},
		{name: "client", parent: "cert", max: 0, local: true,
			short: "make the certificate of a person or program",
			long: `Make certificate and key of somebody who asks nodes: NAME.crt and NAME.key. The role
in it says what for: read, publish, operate (topics, links, routes, MEIDs) or
cluster (members, keys, tokens, restore); each includes those before it.`,
			flags: shared(func(f *pflag.FlagSet) {
				f.Var(newText(""), "name", "the `NAME` that audit lines show (needed)")
				f.Var(newChoice("read", "read", "publish", "operate", "cluster"), "role", "what the holder may do")
				f.Var(newDuration(certs.CertificateLife), "valid", "how long it is good")
			}),
			example: "floe cert client --dir certs --name alice --role operate",
			run:     runCertClient},
		{name: "show", parent: "cert", args: "FILE", min: 1, max: 1, prints: true, local: true,
			short:   "show whom certificates are for and until when",
			example: "floe cert show certs/n1.crt",
			run:     runCertShow},
	}
}

func runCertCA(_ context.Context, s *session, c *call) error {
	if err := c.needFlags("cert ca", "cluster"); err != nil {
		return err
	}
	a, err := certs.NewAuthority(c.text("cluster"), time.Now(), c.duration("valid"))
	if err != nil {
		return err
	}
	if err := a.Save(c.text("dir"), c.bool("force")); err != nil {
		return err
	}
	s.say("%s is for every node and client, %s for nobody", filepath.Join(c.text("dir"), certs.AuthorityCert), filepath.Join(c.text("dir"), certs.AuthorityKey))
	return nil
}

func runCertNode(_ context.Context, s *session, c *call) error {
	if err := c.needFlags("cert node", "id"); err != nil {
		return err
	}
	if err := cluster.CheckID(c.text("id")); err != nil {
		return err
	}
	return issue(s, c, certs.Name{Node: c.text("id")}, c.text("id"), c.list("host"))
}

func runCertClient(_ context.Context, s *session, c *call) error {
	if err := c.needFlags("cert client", "name"); err != nil {
		return err
	}
	if err := cluster.CheckID(c.text("name")); err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	return issue(s, c, certs.Name{Role: fsm.Role(c.text("role")), Person: c.text("name")}, c.text("name"), nil)
}

// issue makes a certificate and writes its files.
func issue(s *session, c *call, name certs.Name, file string, hosts []string) error {
	dir := c.text("dir")
	if file == "ca" {
		return errors.New("the files of ca are those of the authority; take another name")
	}
	a, err := certs.LoadAuthority(dir)
	if err != nil {
		return err
	}
	pair, err := a.Issue(name, hosts, time.Now(), c.duration("valid"))
	if err != nil {
		return err
	}
	certFile, keyFile := filepath.Join(dir, file+".crt"), filepath.Join(dir, file+".key")
	if err := pair.Save(certFile, keyFile, c.bool("force")); err != nil {
		return err
	}
	s.say("%s, %s: %s, until %s", certFile, keyFile, name, pair.Cert.NotAfter.UTC().Format(time.DateOnly))
	return nil
}

// shownCert is a certificate as `cert show` prints it.
type shownCert struct {
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Cluster string    `json:"cluster,omitempty"`
	Node    string    `json:"node,omitempty"`
	Role    string    `json:"role,omitempty"`
	Hosts   []string  `json:"hosts,omitempty"`
	Begins  time.Time `json:"begins"`
	Ends    time.Time `json:"ends"`
	Problem string    `json:"problem,omitempty"`
}

func runCertShow(_ context.Context, s *session, c *call) error {
	all, err := certs.ReadCertificates(c.args[0])
	if err != nil {
		return err
	}
	shown := make([]shownCert, len(all))
	for i, cert := range all {
		shown[i] = showCert(cert, time.Now())
	}
	return s.print(shown, func() {
		for _, x := range shown {
			s.say("%s, by %s, good %s to %s", x.Subject, x.Issuer, x.Begins.Format(time.DateOnly), x.Ends.Format(time.DateOnly))
			for _, line := range [][2]string{{"cluster", x.Cluster}, {"node", x.Node}, {"role", x.Role}, {"problem", x.Problem}} {
				if line[1] != "" {
					s.say("  %s %s", line[0], line[1])
				}
			}
			for _, h := range x.Hosts {
				s.say("  host %s", h)
			}
		}
	})
}

func showCert(cert *x509.Certificate, now time.Time) shownCert {
	x := shownCert{
		Subject: cert.Subject.CommonName, Issuer: cert.Issuer.CommonName, Hosts: cert.DNSNames,
		Begins: cert.NotBefore.UTC(), Ends: cert.NotAfter.UTC(),
	}
	for _, ip := range cert.IPAddresses {
		x.Hosts = append(x.Hosts, ip.String())
	}
	name, err := certs.NameOf(cert)
	if err == nil {
		x.Cluster, x.Node, x.Role = name.Cluster, name.Node, string(name.Role)
	} else if !cert.IsCA {
		x.Problem = err.Error()
	}
	if now.After(cert.NotAfter) {
		x.Problem = "expired"
	}
	return x
}
