package floetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports of every node: floe's defaults.
const (
	PeerPort = "7400"
	IcePort  = "10000"
	HTTPPort = "7480"
)

// network gives out addresses of 127.0.0.0/8, from one /24 after the other. The first of each is held by a listener for
// the life of the test binary, so that two test binaries never share one.
var network subnet

type subnet struct {
	mu     sync.Mutex
	prefix string
	last   int
	claims []net.Listener
}

// NewIP returns a loopback address that no other node or test uses.
func NewIP(t testing.TB) string {
	t.Helper()
	ip, err := network.next()
	if err != nil {
		t.Fatal(err)
	}
	return ip
}

func (n *subnet) next() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.prefix == "" || n.last == 254 {
		if err := n.claim(); err != nil {
			return "", err
		}
	}
	n.last++
	return fmt.Sprintf("%s.%d", n.prefix, n.last), nil
}

func (n *subnet) claim() error {
	for range 100 {
		prefix := fmt.Sprintf("127.%d.%d", 1+rand.IntN(253), rand.IntN(256)) // 127.0.x.x is for people
		l, err := net.Listen("tcp", prefix+".1:7399")
		if err == nil {
			n.prefix, n.last, n.claims = prefix, 1, append(n.claims, l)
			return nil
		}
	}
	return errors.New("no free network in 127.0.0.0/8")
}
