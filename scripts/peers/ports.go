package peers

import (
	"net"
	"strconv"
	"testing"
)

// FreePort returns a port of the host (127.0.0.1, for one) that is free now for tcp and udp. Another process may take
// it before it is used: where a program can choose its own port, let it.
func FreePort(t testing.TB, host string) int {
	t.Helper()
	for range 20 {
		if port, ok := freePort(t, host); ok {
			return port
		}
	}
	t.Fatalf("%s: no port that is free for tcp and udp", host)
	return 0
}

func freePort(t testing.TB, host string) (int, bool) {
	t.Helper()
	tcp, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	port := tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, false
	}
	udp.Close()
	return port, true
}
