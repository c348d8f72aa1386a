package ice_test

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"floe/scripts/suite/ice"
	"floe/transport/ice/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 5 * time.Second

// Requests arrive in order, and a call that succeeds says that all before it
// were read.
func TestClientAndServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	server := ice.Serve(l, func(r *proto.Request) {
		text, _ := ice.ReadText(r.Encaps) // ice_ping has none
		cost, _ := r.Context.Lookup("cost")
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(r.Operation)+" "+text+" "+string(cost))
	})
	defer server.Close()
	conn, err := ice.Dial(l.Addr().String(), limit)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	event := ice.Request{Identity: proto.Identity{Name: "x"}, Operation: "event", Context: map[string]string{"cost": "3"}, Encaps: ice.Text("hello")}
	_, called := conn.Call(event, limit)
	if err := errors.Join(called, conn.Send(event, limit), conn.Ping(limit)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"event hello 3", "event hello 3", "ice_ping  "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if e := server.Endpoint(); e.Host != "127.0.0.1" || e.Port == 0 {
		t.Errorf("endpoint %s", e.String())
	}
}

// Whoever refuses a connection has not seen the request; whoever ends it in
// the middle of a call may have.
func TestFailuresSayWhetherTheRequestMayHaveArrived(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() { // a server that dies while it reads a request
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write(proto.AppendValidate(nil))
		_, _ = conn.Read(make([]byte, 10))
		_ = conn.Close()
		_ = l.Close()
	})
	conn, err := ice.Dial(l.Addr().String(), limit)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Ping(limit); err == nil || errors.Is(err, ice.ErrNotSent) {
		t.Errorf("connection lost during the call: %v, want an error that is not %v", err, ice.ErrNotSent)
	}
	wait.Wait()
	if _, err := ice.Dial(l.Addr().String(), limit); !errors.Is(err, ice.ErrNotSent) {
		t.Errorf("connection refused: %v, want %v", err, ice.ErrNotSent)
	}
}
