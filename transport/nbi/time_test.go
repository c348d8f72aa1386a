package nbi_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/nbi"
)

// pipes is a listener of connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// Requests have to come in time, and their headers in bounds: others are answered where that is possible, closed, counted
// and told of.
func TestRequestsAreBounded(t *testing.T) {
	const post = "POST /ric/v1/handles/e2t HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, tt := range map[string]struct {
		sent         string
		within, past time.Duration
		status       int // 0: no answer
		stats        nbi.Stats
	}{
		"a header that stands still": {post, 4900 * time.Millisecond, 200 * time.Millisecond, 0, nbi.Stats{BadConns: 1}},
		"a header without an end":    {post + "X: " + strings.Repeat("x", 70<<10), 0, time.Second, 431, nbi.Stats{BadConns: 1}},
		"a large header":             {post + "X: " + strings.Repeat("x", 60<<10) + "\r\n\r\n", 0, time.Second, 400, nbi.Stats{BadInput: 1, Connections: 1}},
		"a body that stands still":   {post + "Content-Length: 12\r\n\r\n{", 29 * time.Second, 2 * time.Second, 400, nbi.Stats{BadInput: 1}},
		"nothing":                    {"", 4900 * time.Millisecond, 200 * time.Millisecond, 0, nbi.Stats{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out syncBuffer
				s := nbi.New(nbi.Config{Group: newGroup(t), Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				served := make(chan error, 1)
				go func() { served <- s.Serve(l) }()
				near, far := net.Pipe()
				if err := near.SetDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				l.conns <- far
				go func() { _, _ = io.WriteString(near, tt.sent) }() // what is too much is not taken
				time.Sleep(tt.within)
				synctest.Wait()
				if got := s.Stats(); tt.within > 0 && got != (nbi.Stats{Connections: 1}) {
					t.Errorf("%v after it began: %+v", tt.within, got)
				}
				answered := make(chan int, 1)
				go func() {
					from := bufio.NewReader(near)
					got, err := http.ReadResponse(from, nil)
					if err != nil {
						answered <- 0
						return
					}
					answered <- got.StatusCode
					_, _ = io.Copy(io.Discard, from) // until it is closed
				}()
				time.Sleep(tt.past)
				synctest.Wait()
				select {
				case status := <-answered:
					if status != tt.status {
						t.Errorf("answered %d, want %d", status, tt.status)
					}
				default:
					t.Errorf("%v later there is no answer and no end", tt.past)
				}
				if got := s.Stats(); got != tt.stats {
					t.Errorf("%+v, want %+v", got, tt.stats)
				}
				if line := "bad input, connection closed"; strings.Contains(out.String(), line) != (tt.stats.BadConns > 0) {
					t.Errorf("logged %q", out.String())
				}
				_ = near.Close()
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
