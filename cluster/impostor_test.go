package cluster

import (
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// certified is an address that knows whose it is.
type certified struct {
	net.Addr
	id string
}

func (c certified) NodeID() string { return c.id }

// A call is refused where it claims another id than the certificate of its
// connection, and the log says so once in a while.
func TestCallsAreBoundToCertificates(t *testing.T) {
	var log strings.Builder
	n := &Node{log: hclog.New(&hclog.LoggerOptions{Output: &log})}
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}
	for range 3 {
		_, err := n.serve(t.Context(), certified{at, "n2"}, "m", seal("n3", "c", nil))
		if codeOf(err) != codeInvalid || !strings.Contains(err.Error(), "certificate is that of node n2, not n3") {
			t.Errorf("got %v", err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "peer=127.0.0.1:4711") || !strings.Contains(got, "claims=n3") {
		t.Errorf("log %q", got)
	}
	for _, from := range []net.Addr{certified{at, "n3"}, at} {
		if _, err := n.serve(t.Context(), from, "m", seal("n3", "c", nil)); codeOf(err) != CodeUnknownMethod {
			t.Errorf("got %v", err)
		}
	}
}

// No node says hello, or asks to join, for another.
func TestNobodySpeaksForAnother(t *testing.T) {
	n := &Node{}
	if _, err := n.hello(t.Context(), "n2", nodeInfo{ID: "n3"}); codeOf(err) != codeInvalid {
		t.Errorf("hello: %v", err)
	}
	if _, err := n.join(t.Context(), "n2", joinRequest{ID: "n3"}); codeOf(err) != codeInvalid {
		t.Errorf("join: %v", err)
	}
}
