package nbi_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/nbi"
)

// syncBuffer is what was logged.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Connections beyond the limit are closed, counted and told of; the others are served, and there is room again
// when they go.
func TestConnectionsBeyondTheLimit(t *testing.T) {
	var out syncBuffer
	f := serve(t, nbi.Config{Group: newGroup(t), Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
	address := strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/ric/v1")
	dial := func() net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	// A request of each has it stay open when it was answered.
	var open []net.Conn
	for range nbi.MaxConns {
		c := dial()
		if _, err := c.Write([]byte("GET /ric/v1/health/alive HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	eventually(t, "as many as there may be", func() bool { return f.server.Stats().Connections == nbi.MaxConns })
	for range 3 {
		if _, err := dial().Read(make([]byte, 1)); err == nil {
			t.Error("one more is served")
		}
	}
	if got := f.server.Stats(); got.Refused != 3 || got.Connections != nbi.MaxConns {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(out.String(), "connection refused") {
		t.Errorf("no line tells of them: %s", out.String())
	}
	if _, err := open[0].Read(make([]byte, 1)); err != nil {
		t.Errorf("one of the others: %v", err)
	}
	_ = open[0].Close()
	eventually(t, "room again", func() bool { return f.server.Stats().Connections < nbi.MaxConns })
	f.want(200, "GET", "/health/alive", "")
}
