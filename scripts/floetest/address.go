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

// network gives out addresses of 127.0.0.0/8. The first of its /24 is held by a listener for the life of the test
// binary, so that two test binaries never share one.
var network = sync.OnceValues(func() (*subnet, error) {
	for range 100 {
		a, b := 1+rand.IntN(253), rand.IntN(256) // 127.0.x.x is for people
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:7399", a, b))
		if err == nil {
			return &subnet{a: a, b: b, last: 1, claim: l}, nil
		}
	}
	return nil, errors.New("no free network in 127.0.0.0/8")
})

type subnet struct {
	a, b  int
	claim net.Listener

	mu   sync.Mutex
	last int
}

// NewIP returns a loopback address that no other node or test uses.
func NewIP(t testing.TB) string {
	t.Helper()
	n, err := network()
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	if n.last > 254 {
		t.Fatal("no loopback address is left")
	}
	return fmt.Sprintf("127.%d.%d.%d", n.a, n.b, n.last)
}
