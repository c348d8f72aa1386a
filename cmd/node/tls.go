package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"floe/transport/certs"
	"floe/transport/federation"
	"floe/transport/http/api"
	"floe/transport/wire"
)

// checkTLS checks what belongs together.
func (o *options) checkTLS() error {
	for _, kind := range []string{"tls", "ice-tls"} {
		if (o.text(kind+"-cert") == "") != (o.text(kind+"-key") == "") {
			return usagef("--%s-cert and --%s-key go together", kind, kind)
		}
	}
	if (o.text("tls-cert") == "") != (o.text("tls-ca") == "") {
		return usagef("--tls-cert needs --tls-ca, the authority of the cluster, and the other way round; authorities that only subscribers over ssl are checked by go to --ice-tls-ca")
	}
	if o.text("clusters-ca") != "" && o.text("tls-cert") == "" {
		return usagef("--clusters-ca needs --tls-cert, --tls-key and --tls-ca: without certificates other clusters need none")
	}
	if files := o.iceTLSFiles(); o.access.Certificates() && (files.Cert == "" || files.CA == "") {
		return usagef("--ice-allow looks at certificates, and only Ice over ssl has any: give --ice-ssl, --ice-tls-cert, --ice-tls-key and --ice-tls-ca, or certificates of the node")
	}
	if cert, _, _ := o.iceTLS(); len(o.at["ice-ssl"])+len(o.at["ice-wss"]) > 0 && cert == "" {
		return usagef("--ice-ssl and --ice-wss need --ice-tls-cert and --ice-tls-key, or those of the node: --tls-cert, --tls-key and --tls-ca")
	}
	return nil
}

// iceTLS are the files for Ice: its own where given, else the node's.
func (o *options) iceTLS() (cert, key, ca string) {
	cert, key, ca = o.text("tls-cert"), o.text("tls-key"), cmp.Or(o.text("ice-tls-ca"), o.text("tls-ca"))
	if o.text("ice-tls-cert") != "" {
		cert, key = o.text("ice-tls-cert"), o.text("ice-tls-key")
	}
	return cert, key, ca
}

// iceTLSFiles are the same as the certificates package takes them.
func (o *options) iceTLSFiles() certs.Files {
	cert, key, ca := o.iceTLS()
	files := certs.Files{Cert: cert, Key: key, CA: ca}
	if files != (certs.Files{}) {
		files.Clusters = o.text("clusters-ca")
	}
	return files
}

// encrypted tells whether a listener speaks TLS: with certificates both do,
// unless one is to stay in the clear.
func (o *options) encrypted(listener string) bool {
	return o.text("tls-cert") != "" && !slices.Contains(o.list("insecure"), listener)
}

// openTLS reads the certificate files, where there are any.
func (n *node) openTLS() error {
	o := n.options
	if o.text("tls-cert") == "" {
		return n.openIceTLS()
	}
	files := certs.Files{Cert: o.text("tls-cert"), Key: o.text("tls-key"), CA: o.text("tls-ca"), Clusters: o.text("clusters-ca")}
	var err error
	if n.tls, err = certs.Open(files, n.log.Named("tls")); err != nil {
		return fmt.Errorf("--tls-cert, --tls-key, --tls-ca: %w", err)
	}
	key, err := gossipKey(o)
	if err != nil {
		return err
	}
	if o.encrypted("peer") && key == nil {
		return usagef("with certificates gossip needs a secret, the same on all nodes: --gossip-key-file FILE, with 32 random bytes in base64")
	}
	if id := n.tls.Name().Node; o.text("id") != "" && o.text("id") != id {
		return usagef("--id is %s, and %s is for node %s", o.text("id"), files.Cert, id)
	}
	return n.openIceTLS()
}

// openIceTLS reads the certificate files of Ice, which may be the node's.
func (n *node) openIceTLS() error {
	files := n.options.iceTLSFiles()
	if files == (certs.Files{}) {
		return nil
	}
	var err error
	if n.iceTLS, err = certs.OpenIce(files, n.log.Named("tls").Named("ice")); err != nil {
		return fmt.Errorf("certificates of Ice, --ice-tls-cert, --ice-tls-key, --ice-tls-ca: %w", err)
	}
	return nil
}

// nodeID is the id that flags or certificate give the node, "" where neither does.
func (n *node) nodeID() string {
	if n.tls != nil {
		return n.tls.Name().Node
	}
	return n.options.text("id")
}

// peerTLS puts TLS on the connections between nodes.
func (n *node) peerTLS() wire.Options {
	if n.tls == nil || !n.options.encrypted("peer") {
		return wire.Options{}
	}
	return wire.Options{WrapDialled: n.tls.Dialled, WrapAccepted: n.tls.Accepted, Abroad: federation.Asks}
}

// httpTLS is how the HTTP listener speaks TLS, nil where it does not.
func (n *node) httpTLS() *tls.Config {
	if n.tls == nil || !n.options.encrypted("http") {
		return nil
	}
	return n.tls.Server()
}

// runTLS takes new certificate files as they come.
func (n *node) runTLS(ctx context.Context) error {
	var all sync.WaitGroup
	for _, source := range []*certs.Source{n.tls, n.iceTLS} {
		if source == nil {
			continue
		}
		again := make(chan os.Signal, 1)
		signal.Notify(again, syscall.SIGHUP)
		all.Go(func() {
			defer signal.Stop(again)
			source.Run(ctx, again)
		})
	}
	all.Wait()
	return nil
}

// tlsProblems says what is wrong with the certificates.
func (n *node) tlsProblems() []string {
	var out []string
	for _, source := range []*certs.Source{n.tls, n.iceTLS} {
		if source == nil {
			continue
		}
		for _, p := range source.Problems(time.Now()) {
			if !slices.Contains(out, p) { // the files may be the same
				out = append(out, p)
			}
		}
	}
	return out
}

// certificate is the node's certificate as status tells it, nil without one.
func (n *node) certificate() *api.Certificate {
	if n.tls == nil {
		return nil
	}
	cert, authority := n.tls.Ends()
	name := n.tls.Name()
	return &api.Certificate{Cluster: name.Cluster, Node: name.Node, Ends: cert.UTC(), AuthorityEnds: authority.UTC()}
}

// claims checks that the other end of a connection is the node it says it is.
func claims(s *wire.Stream, id string) error {
	if from, known := s.RemoteAddr().(interface{ NodeID() string }); known && from.NodeID() != id {
		return fmt.Errorf("node %s says that it is node %s", from.NodeID(), id)
	}
	return nil
}
