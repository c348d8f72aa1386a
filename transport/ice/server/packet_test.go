package server

import (
	"net"
	"net/netip"
	"testing"

	"floe/transport/ice/proto"
)

func TestDatagrams(t *testing.T) {
	o := newObjects()
	s := New(Config{Objects: o})
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{Server: s, objects: o, done: make(chan error, 1)}
	go func() { h.done <- s.ServePacket(socket, "udp") }()
	conn, err := net.Dial("udp", socket.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	batch, at := proto.BeginBatch(nil)
	entry := call(0, "sink", "x", 0, nil)[18:]
	batch = proto.EndBatch(append(append(batch, entry...), entry...), at, 2, 0)
	for _, b := range [][]byte{
		call(0, "sink", "x", 0, nil),
		call(9, "sink", "x", 0, nil), // with an id: no reply all the same
		batch,
		call(0, "typed", "wait", 0, nil), // may wait: not taken
		[]byte("garbage that is long enough"),
		call(0, "sink", "x", 0, nil)[:20],
		proto.AppendValidate(nil),
		call(0, "nobody", "x", 0, nil),
		call(0, "sink", "last", 0, nil),
	} {
		conn.Write(b)
	}
	eventually(t, "5 events", func() bool { return o.sink.events.Load() == 5 })
	if st := s.Stats()[0]; st.BadInput != 3 || st.Listener != "udp" {
		t.Errorf("got %+v", st)
	}
	if n := o.sink.twoway.Load(); n != 0 {
		t.Errorf("%d datagrams that want a reply", n)
	}
	if len(o.begun) != 0 {
		t.Error("a datagram ran an operation that may wait")
	}
	h.shutdown(t)
}

func FuzzDatagram(f *testing.F) {
	f.Add(call(0, "sink", "x", 0, nil))
	f.Add(call(0, "typed", "echo", 2, str("x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(Config{Objects: newObjects()})
		p := packets{listener: newListener(s, Transport{Name: "udp"}, nil)}
		p.datagram(t.Context(), b, netip.AddrPort{})
	})
}
