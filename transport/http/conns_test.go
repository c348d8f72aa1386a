package http_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	floehttp "floe/transport/http"
)

// Connections that never make a request are counted, those that do are not.
func TestBadInputIsCounted(t *testing.T) {
	s := floehttp.New(floehttp.Config{Group: newGroup(), Nodes: &nodes{}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()

	resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	silent, err := net.Dial("tcp", l.Addr().String()) // looks in and goes
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()
	for _, garbage := range []string{"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00", "GET / HT", "\r\n\r\n\x00\xff\xff\xff\r\n\r\n"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(garbage)); err != nil {
			t.Fatal(err)
		}
		c.(*net.TCPConn).CloseWrite()
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		for b := make([]byte, 1024); err == nil; {
			_, err = c.Read(b)
		}
		c.Close()
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.Stats().Connections > 0 && ctx.Err() == nil {
		<-tick.C
	}
	if got := s.Stats(); got.BadInput != 3 || got.Connections != 0 {
		t.Errorf("got %+v, want 3 bad ones and none open", got)
	}
}

// A client of another protocol may wait for an answer of that, so that its
// connection ends at once; a slow one of ours is not taken for such.
func TestOtherProtocolsEndAtOnce(t *testing.T) {
	s := floehttp.New(floehttp.Config{Group: newGroup(), Nodes: &nodes{}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00"}, ""},
		{[]string{"\x16\x03\x01\x02\x00\x01"}, ""}, // TLS
		{[]string{"get / HTTP/1.0"}, ""},
		{[]string{"GE", "T /healthz HTTP/1.0\r\n\r\n"}, "HTTP/1.0 200 OK"},
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range tt.parts {
			if _, err := c.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		c.SetReadDeadline(time.Now().Add(4 * time.Second)) // the time-out for headers is longer
		got, err := io.ReadAll(c)
		if line, _, _ := strings.Cut(string(got), "\r\n"); line != tt.want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", tt.parts, line, err, tt.want)
		}
		c.Close()
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A client that leaves, or is not content with the node's certificate, is not
// called slow in the log.
func TestWhyAConnectionEnded(t *testing.T) {
	for name, c := range map[string]struct {
		tls  bool
		want string
	}{
		"plain": {false, "the client left before it had sent a request"},
		"TLS":   {true, "TLS was not agreed on"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan string, 16)
			config := floehttp.Config{Group: newGroup(), Nodes: &nodes{}, Log: hclog.New(&hclog.LoggerOptions{Output: lineWriter(lines)})}
			if c.tls {
				config.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("none") }}
			}
			s := floehttp.New(config)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(l) }()
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if c.tls {
				_ = tls.Client(nc, &tls.Config{InsecureSkipVerify: true}).Handshake() // is to go wrong
			} else if _, err := nc.Write([]byte("GET / HT")); err != nil {
				t.Fatal(err)
			}
			nc.Close()
			for deadline := time.After(10 * time.Second); ; {
				select {
				case line := <-lines:
					if !strings.Contains(line, "connection closed") {
						continue
					}
					if !strings.Contains(line, c.want) {
						t.Errorf("got %s", line)
					}
				case <-deadline:
					t.Error("no line")
				}
				break
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// lineWriter hands on what is written.
type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}
