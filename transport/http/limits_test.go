package http

import (
	"bytes"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"floe/transport/http/api"
)

// Calls over a limit are all counted, and one line tells of them.
func TestCallsOverALimitAreCountedAndLogged(t *testing.T) {
	var text bytes.Buffer
	f, log := newFailures(), hclog.New(&hclog.LoggerOptions{Output: &text})
	r := httptest.NewRequest("POST", "/v1/topics", nil)
	for range 3 {
		f.note(log, r, &api.Error{Kind: api.TooLarge, Message: "over it"})
		f.note(log, r, &api.Error{Kind: api.Limit, Message: "no more"})
		f.note(log, r, &api.Error{Kind: api.NoSuchTopic, Message: "none"})
	}
	got := f.counts()
	if got[api.TooLarge] != 3 || got[api.Limit] != 3 || got[api.NoSuchTopic] != 3 {
		t.Errorf("counted %v", got)
	}
	if lines := text.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "[WARN]") || !strings.Contains(lines, "/v1/topics") || !strings.Contains(lines, "over it") {
		t.Errorf("logged %q", lines)
	}
}

// one is a listener that gives each connection it has.
type one struct {
	net.Listener
	conns chan net.Conn
}

func (l *one) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// A connection beyond the limit is closed, counted and told of; those after one has gone are taken.
func TestConnectionsBeyondTheLimit(t *testing.T) {
	var text bytes.Buffer
	s := &conns{log: hclog.New(&hclog.LoggerOptions{Output: &text})}
	here := &one{conns: make(chan net.Conn, 2)}
	l := &bounded{Listener: here, conns: s}
	s.open.Store(MaxConns - 1)
	last, lastFar := net.Pipe()
	here.conns <- last
	if c, err := l.Accept(); err != nil || c.(*conn).Conn != last {
		t.Fatalf("the last one: %v", err)
	}
	s.open.Store(MaxConns)
	more, moreFar := net.Pipe()
	here.conns <- more
	close(here.conns)
	if c, err := l.Accept(); err == nil {
		t.Errorf("one more is taken: %v", c)
	}
	if _, err := moreFar.Read(make([]byte, 1)); err == nil {
		t.Error("it is not closed")
	}
	if s.refused.Load() != 1 || !strings.Contains(text.String(), "too many connections") {
		t.Errorf("%d refused, logged %q", s.refused.Load(), text.String())
	}
	_, _ = last.Close(), lastFar.Close()
}
