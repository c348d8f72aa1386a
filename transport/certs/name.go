package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"floe/fsm"
)

// scheme is that of the URI that names a certificate's holder.
const scheme = "floe"

// Name says whom a certificate is for: a node, or somebody with a role.
type Name struct {
	// Cluster is the name of the cluster, as its authority was made for.
	Cluster string
	// Node is a node's id, "" in a client's certificate.
	Node string
	// Role is what a client may do, "" in a node's certificate.
	Role fsm.Role
	// Person is the certificate's common name, for people.
	Person string
}

// validPart is what names of clusters and nodes are made of.
var validPart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Check says what is wrong with a name, nil where nothing is.
func (n Name) Check() error {
	switch {
	case !validPart.MatchString(n.Cluster):
		return fmt.Errorf("cluster name %q: 1 to 64 letters, digits, '.', '_' and '-' are allowed, a letter or digit first", n.Cluster)
	case (n.Node == "") == (n.Role == ""):
		return errors.New("a certificate is either for a node or for a role")
	case n.Node != "" && !validPart.MatchString(n.Node):
		return fmt.Errorf("node id %q: 1 to 64 letters, digits, '.', '_' and '-' are allowed, a letter or digit first", n.Node)
	case n.Node == "":
		_, err := fsm.ParseRole(string(n.Role))
		return err
	}
	return nil
}

// URI is the name as it stands in the certificate.
func (n Name) URI() *url.URL {
	path := "/role/" + string(n.Role)
	if n.Node != "" {
		path = "/node/" + n.Node
	}
	return &url.URL{Scheme: scheme, Host: n.Cluster, Path: path}
}

// String is the name for people and audit lines.
func (n Name) String() string {
	if n.Node != "" {
		return "node " + n.Node
	}
	return fmt.Sprintf("%s (%s)", n.Person, n.Role)
}

// Rights is what the holder may ask for. A node may do everything: it could
// as well write into the log itself.
func (n Name) Rights() fsm.Role {
	if n.Node != "" {
		return fsm.RoleCluster
	}
	return n.Role
}

// ErrNoName: a certificate without a name of ours.
var ErrNoName = errors.New("the certificate names no node and no role of a floe cluster (a URI such as floe://CLUSTER/node/ID)")

// NameOf reads whom a certificate is for. The error is ErrNoName where there
// is no floe URI, another one where there are two or a bad one.
func NameOf(cert *x509.Certificate) (Name, error) {
	var found *url.URL
	for _, u := range cert.URIs {
		if u.Scheme != scheme {
			continue
		}
		if found != nil {
			return Name{}, errors.New("the certificate has two floe names")
		}
		found = u
	}
	if found == nil {
		return Name{}, ErrNoName
	}
	name := Name{Cluster: found.Host, Person: cert.Subject.CommonName}
	switch kind, rest, _ := strings.Cut(strings.TrimPrefix(found.Path, "/"), "/"); kind {
	case "node":
		name.Node = rest
	case "role":
		name.Role = fsm.Role(rest)
	}
	if err := name.Check(); err != nil || name.URI().String() != found.String() {
		return Name{}, fmt.Errorf("the certificate's name %q is none of a node or a role", found)
	}
	return name, nil
}
