package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// arrows says what a package must not import, and why. Imports point one
// way: cmd/node, the faces, cluster, fsm, then topics and routing.
var arrows = []struct{ from, not, why string }{
	{"floe/topics", "floe/", "the graph is pure"},
	{"floe/topics", "net", "the graph is pure"},
	{"floe/topics", "os/", "the graph is pure"},
	{"floe/topics", "github.com/hashicorp/raft", "the graph is pure"},
	{"floe/routing", "floe/", "routes are pure"},
	{"floe/routing", "os", "routes are pure"},
	{"floe/routing", "time", "routes are pure"},
	{"floe/routing", "github.com/", "routes are pure"},
	{"floe/routing/derive", "floe/fsm", "derivation is pure"},
	{"floe/routing/derive", "floe/cluster", "derivation is pure"},
	{"floe/routing/derive", "floe/transport", "derivation is pure"},
	{"floe/routing/derive", "os", "derivation is pure"},
	{"floe/routing/derive", "net", "derivation is pure"},
	{"floe/routing/derive", "time", "derivation is pure"},
	{"floe/routing/derive", "github.com/", "derivation is pure"},
	{"floe/transport/routeload", "floe/cluster", "it serves every face, and asks for two methods"},
	{"floe/transport/routeload", "floe/transport", "it serves every face"},
	{"floe/fsm", "floe/cluster", "the state knows no cluster"},
	{"floe/fsm", "floe/transport", "the state knows no face"},
	{"floe/cluster", "floe/transport", "the cluster says what it needs with interfaces of its own"},
	{"floe/cluster", "floe/topics", "the cluster moves bytes: it knows no topic"},
	{"floe/transport/delivery", "floe/transport/ice/client", "one engine for every face"},
	{"floe/transport/delivery", "floe/transport/ice/server", "one engine for every face"},
	{"floe/transport/delivery", "floe/transport/http", "one engine for every face"},
	{"floe/transport/delivery", "floe/transport/native", "one engine for every face"},
	{"floe/transport/delivery", "floe/transport/wire", "one engine for every face"},
	{"floe/transport/wire", "floe/", "the peer port knows nothing of what it carries"},
	{"floe/transport/ice", "floe/transport/http", "faces are strangers to each other"},
	{"floe/transport/ice", "floe/transport/native", "faces are strangers to each other"},
	{"floe/transport/ice", "floe/transport/wire", "faces are strangers to each other"},
	{"floe/transport/ice/proto", "floe/", "bytes only"},
	{"floe/transport/ice/icestorm", "floe/transport/ice/client", "it asks for one method"},
	{"floe/transport/ice/icestorm", "floe/fsm", "it reads what a real IceStorm holds, and knows no floe"},
	{"floe/transport/ice/server", "floe/transport/delivery", "the server knows no IceStorm"},
	{"floe/transport/http", "floe/transport/wire", "faces are strangers to each other"},
	{"floe/transport/rmr", "floe/cluster", "an application needs no cluster"},
	{"floe/transport/rmr", "floe/transport/http", "faces are strangers to each other"},
	{"floe/transport/rmr", "floe/transport/ice", "faces are strangers to each other"},
	{"floe/transport/rmr", "floe/transport/native", "faces are strangers to each other"},
	{"floe/transport/rmr", "floe/transport/wire", "faces are strangers to each other"},
	{"floe/routing/derive", "floe/fsm", "facts are pure"},
	{"floe/routing/derive", "net", "facts are pure"},
	{"floe/routing/derive", "time", "facts are pure"},
	{"floe/transport/rmr/proto", "floe/", "bytes only"},
	{"floe/transport/rmr/relay", "floe/cluster", "it asks for two methods"},
	{"floe/transport/rmr/relay", "floe/transport/rmr/manager", "faces are strangers to each other"},
	{"floe/transport/rmr/relay", "floe/transport/delivery", "topics are reached through a function"},
	{"floe/transport/rmr/manager", "floe/cluster", "it says what it needs with an interface of its own"},
	{"floe/transport/rmr/manager", "floe/transport/http", "faces are strangers to each other"},
	{"floe/transport/rmr/probe", "floe/transport/", "it needs no message"},
	{"floe/transport/nbi", "floe/cluster", "it says what it needs with an interface of its own"},
	{"floe/transport/nbi", "floe/transport/rmr", "faces are strangers to each other"},
	{"floe/transport/nbi", "floe/transport/http", "faces are strangers to each other"},
	{"floe/transport/rmr/proto", "net", "bytes only"},
	{"floe/transport/certs", "floe/cluster", "it is about files and names"},
	{"floe/transport/certs", "floe/transport", "it serves every face"},
	{"floe/transport/native", "floe/transport/http", "faces are strangers to each other"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsPointOneWay(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "floe/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen[p.ImportPath] = true
		for _, a := range arrows {
			for _, imported := range p.Imports {
				if p.ImportPath == a.from && strings.HasPrefix(imported, a.not) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, a.why)
				}
			}
		}
	}
	for _, a := range arrows {
		if !seen[a.from] {
			t.Errorf("there is no package %s", a.from)
		}
	}
}
