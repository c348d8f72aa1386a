package http_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
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

// timed is a server in a bubble of time of its own.
type timed struct {
	*floehttp.Server
	t      *testing.T
	group  *group
	stream *endless
	log    *bytes.Buffer
	pipes  *pipes
}

// inTime tells a story in virtual time.
func inTime(t *testing.T, story func(s *timed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &timed{t: t, group: newGroup(), stream: &endless{}, log: &bytes.Buffer{}, pipes: &pipes{make(chan net.Conn), make(chan struct{})}}
		s.group.must(fsm.CreateTopic{Name: "A"})
		s.Server = floehttp.New(floehttp.Config{Group: s.group, Nodes: &nodes{}, Events: s.stream, Log: hclog.New(&hclog.LoggerOptions{Output: s.log})})
		served := make(chan error, 1)
		go func() { served <- s.Serve(s.pipes) }()
		t.Cleanup(func() { // after the connections are closed
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		story(s)
	})
}

// ask sends what is the beginning of a request, or a whole one.
func (s *timed) ask(text string) net.Conn {
	s.t.Helper()
	near, far := net.Pipe()
	s.t.Cleanup(func() { _ = near.Close() })
	if err := near.SetDeadline(time.Now().Add(time.Hour)); err != nil {
		s.t.Fatal(err)
	}
	s.pipes.conns <- far
	if _, err := io.WriteString(near, text); err != nil {
		s.t.Fatal(err)
	}
	return near
}

// want looks how many connections are open after a time.
func (s *timed) want(after time.Duration, open int) {
	s.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := s.Stats().Connections; got != open {
		s.t.Errorf("%v later %d connections are open, want %d", after, got, open)
	}
}

// endless is a native subscription whose events have no end.
type endless struct{ closed atomic.Bool }

func (e *endless) Publish(context.Context, api.Publish) error { return nil }
func (e *endless) Subscribe(context.Context, []string) (floehttp.Stream, error) {
	return e, nil
}
func (e *endless) Next(context.Context) (api.Event, error) { return api.Event{Missed: 1}, nil }
func (e *endless) Close()                                  { e.closed.Store(true) }

// A body that stands still is refused when its time is over, and the connection closed.
func TestBodyThatStandsStill(t *testing.T) {
	inTime(t, func(s *timed) {
		begun := time.Now()
		c := s.ask("POST /v1/topics HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{")
		s.want(59*time.Second, 1)
		got, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			s.t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if got.StatusCode != 503 || kind(string(body)) != api.Timeout || err != nil {
			s.t.Errorf("answered %d %s, %v", got.StatusCode, body, err)
		}
		if took := time.Since(begun); took > time.Minute+time.Second {
			s.t.Errorf("answered after %v", took)
		}
		s.want(time.Second, 0)
		if n := s.Stats().Errors[api.Timeout]; n != 1 {
			s.t.Errorf("%d counted", n)
		}
	})
}

// A client that does not take its answer loses its connection, and a line tells of it.
func TestAnswerThatIsNotTaken(t *testing.T) {
	for _, path := range []string{"/v1/topics", "/metrics"} {
		t.Run(path, func(t *testing.T) {
			inTime(t, func(s *timed) {
				s.ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
				s.want(59*time.Second, 1)
				s.want(7*time.Second, 0) // the time for the call is beside it
				s.wantLine("did not take the answer in time")
			})
		})
	}
}

func (s *timed) wantLine(text string) {
	s.t.Helper()
	if got := s.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "[WARN]") || !strings.Contains(got, "connection closed") || !strings.Contains(got, text) {
		s.t.Errorf("logged %q", got)
	}
}

// A stream goes on for as long as its reader takes what comes, and ends with one that takes nothing.
func TestStreamWhoseReaderTakesNothing(t *testing.T) {
	for path, line := range map[string]string{"/v1/events?topic=A": `{"missed":1}`, "/v1/watch": "event: progress"} {
		t.Run(path, func(t *testing.T) {
			inTime(t, func(s *timed) {
				c := s.ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
				lines := bufio.NewScanner(c)
				for begun := time.Now(); time.Since(begun) < 3*time.Minute; {
					if !lines.Scan() {
						s.t.Fatalf("it ends: %v", lines.Err())
					}
					if strings.Contains(lines.Text(), line) {
						time.Sleep(time.Second)
					}
				}
				s.want(58*time.Second, 1)
				s.want(5*time.Second, 0) // something is written every 2 s
				s.wantLine("did not take the answer in time")
				if strings.Contains(path, "events") && !s.stream.closed.Load() {
					s.t.Error("its subscription goes on")
				}
			})
		})
	}
}

// A connection may be without requests for a while, and is closed then, which is nothing to tell of.
func TestIdleConnectionsAreClosed(t *testing.T) {
	inTime(t, func(s *timed) {
		c := s.ask("GET /v1/topics HTTP/1.1\r\nHost: x\r\n\r\n")
		from := bufio.NewReader(c)
		for range 3 {
			got, err := http.ReadResponse(from, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, got.Body); err != nil || got.StatusCode != 200 {
				s.t.Errorf("answered %d, %v", got.StatusCode, err)
			}
			s.want(2*time.Minute-time.Second, 1)
			if _, err := io.WriteString(c, "GET /v1/topics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				s.t.Fatal(err)
			}
		}
		if _, err := http.ReadResponse(from, nil); err != nil {
			s.t.Fatal(err)
		}
		s.want(2*time.Minute+time.Second, 0)
		if got := s.Stats(); got.BadInput != 0 || s.log.Len() > 0 {
			s.t.Errorf("%+v, logged %q", got, s.log.String())
		}
	})
}
