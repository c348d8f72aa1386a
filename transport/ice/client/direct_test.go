package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// sized is an event of that name with so many bytes of parameters.
func sized(name string, n int) *delivery.Event {
	encaps, at := proto.BeginEncapsulation(nil, proto.Encoding11)
	encaps = proto.EndEncapsulation(proto.AppendString(encaps, make([]byte, n)), at)
	ev, err := delivery.NewEvent(proto.AppendTail(nil, name, 0, nil, encaps))
	if err != nil {
		panic(err)
	}
	return ev
}

// TestBurstOvertakesNothing publishes bursts to a subscriber that reads
// nothing for a while: what a flush can't write is carried, in order, whole.
func TestBurstOvertakesNothing(t *testing.T) {
	for name, size := range map[string]int{"copied": 4 << 10, "gathered": 2 * largeTail} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.set(func(s *server) { s.deaf = true })
			st := newStand(t, Config{}, delivery.Config{Queue: delivery.Limits{Bytes: 64 << 20}})
			st.group.subscribe("s", proxyTo(proto.Oneway, s.endpoint()), retry("-1"))
			st.publish("first")
			eventually(t, "it is connected", func() bool { return st.receiver().Delivered == 1 })
			var b delivery.Burst
			want := []string{"first"}
			for i := range 2000 {
				want = append(want, fmt.Sprint("e", i))
				st.Topic("a").Publish(sized(want[i+1], size), &b)
				if i%50 == 49 {
					b.Flush()
				}
			}
			s.set(func(s *server) { s.deaf = false })
			eventually(t, "all have arrived", func() bool { return len(s.executed()) == len(want) })
			if got := s.executed(); !slices.Equal(got, want) {
				t.Error("out of order")
			}
		})
	}
}

// TestBurstNeedsNoWriter sees that a flush sends by itself: the connection's
// own goroutine is kept from writing.
func TestBurstNeedsNoWriter(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, s.endpoint()))
	st.publish("first")
	eventually(t, "it is connected", func() bool { return len(s.executed()) == 1 })
	conn := st.client.open()[0]
	var b delivery.Burst
	st.Topic("a").Publish(event("second"), &b)
	if len(s.executed()) != 1 || len(conn.wake) != 0 {
		t.Error("it did not wait for the flush")
	}
	b.Flush()
	if got := st.receiver(); got.Delivered != 2 || got.Queued != 0 {
		t.Errorf("after the flush: %+v, want both written", got.Counts)
	}
}

// TestSilentNetworkIsNoFailureForAWhile gives a connection up because the
// peer's host is silent: the subscriber, whose first failure would remove it,
// is tried again until it can be reached.
func TestSilentNetworkIsNoFailureForAWhile(t *testing.T) {
	for _, mode := range []proto.ProxyMode{proto.Oneway, proto.Twoway} {
		s := newServer(t)
		st := newStand(t, Config{}, delivery.Config{})
		st.group.subscribe("s", proxyTo(mode, s.endpoint()))
		st.publish("first")
		eventually(t, "it is connected", func() bool { return st.receiver().Delivered == 1 })
		address := s.address()
		s.listener.Close()
		st.client.open()[0].fail(errUnheard)
		st.publish("second")
		again := serverAt(t, address)
		eventually(t, "the second arrives", func() bool { return slices.Contains(again.executed(), "second") })
		if !st.group.subscribed("s") || st.receiver().Lost() != 0 {
			t.Errorf("mode %d: removed, or lost %d", mode, st.receiver().Lost())
		}
	}
}

func TestSilenceIsAFailureInTheEnd(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{SendTimeout: 50 * time.Millisecond}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, s.endpoint()))
	st.publish("first")
	eventually(t, "it is connected", func() bool { return st.receiver().Delivered == 1 })
	conn := st.client.open()[0]
	s.listener.Close()
	conn.fail(errUnheard)
	st.publish("second")
	eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
}

// TestGivenUpConnectionIsAborted sees to it that nothing sent on a connection
// that was given up can arrive after what is sent on the next one.
func TestGivenUpConnectionIsAborted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		nc, err := l.Accept()
		if err == nil {
			nc.Write(proto.AppendValidate(nil))
		}
		accepted <- nc
	}()
	st := newStand(t, Config{}, delivery.Config{})
	port := l.Addr().(*net.TCPAddr).Port
	st.group.subscribe("s", proxyTo(proto.Oneway, proto.Endpoint{Type: proto.EndpointTCP, Host: "127.0.0.1", Port: int32(port), Timeout: 60000}), retry("-1"))
	st.publish("first")
	nc := <-accepted
	defer nc.Close()
	eventually(t, "it is written", func() bool { return st.receiver().Delivered == 1 })
	l.Close()
	st.client.open()[0].fail(errUnheard)
	if _, err := io.ReadAll(nc); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the old connection ended with %v, want a reset", err)
	}
}
