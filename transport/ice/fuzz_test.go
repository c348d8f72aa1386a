package ice

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"floe/transport/ice/server"
)

// pipeListener hands out one connection.
type pipeListener struct {
	once   sync.Once
	conn   chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// FuzzConversation sends a whole connection's bytes to a face, seeded with
// what real clients sent.
func FuzzConversation(f *testing.F) {
	files, _ := filepath.Glob("testdata/vectors/*.txt")
	for _, file := range files {
		var sent []byte
		for _, l := range readVector(f, file) {
			if l.fromClient {
				sent = append(sent, l.bytes...)
			}
		}
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent []byte) { converse(t, sent) })
}

func converse(t *testing.T, sent []byte) {
	g := newGroup(t, "IceStorm", linked...)
	hub := &fakeHub{group: g, news: make(chan struct{}, 1)}
	face, err := New(Config{Node: "n1", Group: g, Hub: hub, Endpoints: []string{"tcp -h 127.0.0.1 -p 10000"},
		Server: server.Config{MessageSizeMax: 1 << 16, FrameTimeout: time.Second, CloseTimeout: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	l := &pipeListener{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- face.Serve(l, server.Transport{Name: "pipe"}) }()
	ours, theirs := net.Pipe()
	l.conn <- theirs
	go func() { ours.Write(sent); ours.Close() }()
	io.Copy(io.Discard, ours)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := face.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
