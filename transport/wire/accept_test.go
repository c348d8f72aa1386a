package wire

import (
	"fmt"
	"net"
	"syscall"
	"testing"
)

func TestAcceptErrorsAreWaitedOut(t *testing.T) {
	server := listen(t, Config{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	calls := 0
	server.accept(func() (*net.TCPConn, error) {
		switch calls++; calls {
		case 1, 2, 3:
			return nil, &net.OpError{Op: "accept", Err: fmt.Errorf("accept4: %w", syscall.EMFILE)}
		case 4:
			return ln.(*net.TCPListener).AcceptTCP()
		}
		return nil, net.ErrClosed
	})
	if got := server.Stats(); got.AcceptErrors != 3 || got.Conns != 1 {
		t.Errorf("got %+v, want three accept errors and a connection", got)
	}
}
