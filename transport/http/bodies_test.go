package http_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	floehttp "floe/transport/http"
	"floe/transport/http/api"
)

// blanks are as many as are read, and take no memory.
type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// Bodies over the limit of their call are refused, counted, and told of.
func TestBodiesOverTheLimit(t *testing.T) {
	var out bytes.Buffer
	w := newWorld(t, func(c *floehttp.Config) { c.Log = hclog.New(&hclog.LoggerOptions{Output: &out}) })
	for i, c := range []struct {
		path  string
		limit int64 // MiB
	}{{"/v1/topics", 1}, {"/v1/apply", 32}, {"/v1/routes", 128}} {
		recorder := httptest.NewRecorder()
		w.calls.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "POST", c.path, io.LimitReader(blanks{}, c.limit<<20+1)))
		if text := recorder.Body.String(); recorder.Code != 413 || !strings.Contains(text, fmt.Sprintf("the limit of %d bytes", c.limit<<20)) {
			t.Errorf("%s: %d %s", c.path, recorder.Code, text)
		}
		if got := w.server.Stats().Errors[api.TooLarge]; got != uint64(i+1) {
			t.Errorf("%s: %d calls counted, want %d", c.path, got, i+1)
		}
	}
	if !strings.Contains(out.String(), "call refused, it is over a limit") {
		t.Errorf("no line tells of them: %s", out.String())
	}
}

// A request whose header has no end is answered, closed and counted as bad input.
func TestHeadersAreBounded(t *testing.T) {
	s := floehttp.New(floehttp.Config{Group: newGroup(), Nodes: &nodes{}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: "+strings.Repeat("x", 70<<10)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "HTTP/1.1 431" {
		t.Errorf("answered %q, %v", answer, err)
	}
	_ = c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.BadInput != 1 || got.Connections != 0 {
		t.Errorf("%+v", got)
	}
}

func TestJoinTokensEnd(t *testing.T) {
	w := newWorld(t)
	w.upgrade()
	for hours, want := range map[int]int{720: http.StatusOK, 721: http.StatusBadRequest} {
		code, body, _ := w.do(t, "POST", "/v1/tokens", map[string]any{"name": fmt.Sprint("t", hours), "join": true, "ttl_seconds": hours * 3600})
		if code != want {
			t.Errorf("%d h: %d %s", hours, code, body)
		}
	}
}
