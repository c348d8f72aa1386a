package rmrapp

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/transport/rmr/proto"
)

func TestSendsByItsTable(t *testing.T) {
	b, c := started(t, Config{}), started(t, Config{})
	bb, cc := b.DataAddress(), c.DataAddress()
	const nobody = "127.0.0.1:1" // refuses
	a := given(t, "mse|1|-1|"+bb+","+cc, "mse|2|-1|"+bb+";"+cc, "mse|3|7|%meid", "mse|4|-1|"+nobody+";"+bb, "mse|5|-1|"+bb+";"+nobody,
		"mse|6|-1|"+nobody, "mse|7|-1|host-without-port", "mse|8|-1|"+bb+","+nobody)
	for _, s := range []struct {
		mtype, subID int32
		state        State
		to           []string
	}{
		{1, -1, OK, []string{bb}}, {1, 9, OK, []string{cc}}, {1, -1, OK, []string{bb}},
		{2, -1, OK, []string{bb, cc}},
		{3, 7, NoEndpoint, nil}, // no such MEID
		{4, -1, OK, []string{bb}}, {5, -1, OK, []string{bb}},
		{6, -1, NoEndpoint, nil}, {7, -1, NoEndpoint, nil}, {3, -1, NoEndpoint, nil}, {9, -1, NoEndpoint, nil},
		{8, -1, OK, []string{bb}}, {8, -1, NoEndpoint, nil}, {8, -1, OK, []string{bb}}, // the dead one is not passed over
	} {
		got := a.Send(soon(t), message(s.mtype, s.subID, "x"))
		if got.State != s.state || !cmp.Equal(got.To, s.to) || (got.State != OK && got.Err == nil) {
			t.Errorf("%d/%d: %+v, want %v to %v", s.mtype, s.subID, got, s.state, s.to)
		}
	}
	if n := len(a.now().data.conns); n != 2 {
		t.Errorf("%d connections to 2 endpoints", n)
	}
}

// By MEID, with the header that the library makes; nothing of a call.
func TestSentHeader(t *testing.T) {
	b := started(t, Config{})
	a := started(t, Config{Name: "app0", Seed: table("s", "mse|300|-1|%meid") + block("meid_map", "m", "mme_ar|"+b.DataAddress()+"|meid000")})
	m := message(300, 12, "hello")
	m.MEID, m.Trace = []byte("meid000"), []byte("trace")
	m.Data1, m.Flags = []byte{7, 1, 1, 1}, proto.FlagCall
	copy(m.XID[:], "xact")
	if s := a.Send(soon(t), m); s.State != OK {
		t.Fatalf("%+v", s)
	}
	got := received(t, b)
	m.Src, m.SrcIP = []byte("app0"+portOf(a.DataAddress())), []byte(a.DataAddress())
	m.Data1, m.Flags, m.Data2 = []byte{0, 0, 0, 0}, 0, []byte{}
	if diff := cmp.Diff(got.Message, m); diff != "" {
		t.Error(diff)
	}
}

// An untouched entry keeps its turn over a delta, a full table begins anew.
func TestTurns(t *testing.T) {
	m, b, c := newManager(t), started(t, Config{}), started(t, Config{})
	a := started(t, Config{})
	nc := m.dial(a.ControlAddress())
	group := "mse|1|-1|" + b.DataAddress() + "," + c.DataAddress()
	for i, step := range []struct{ text, to string }{
		{table("1", group), b.DataAddress()},
		{block("updatert", "2", "mse|2|-1|x:1"), c.DataAddress()},
		{block("updatert", "3", "mse|2|-1|x:1"), b.DataAddress()},
		{table("4", group), b.DataAddress()},
	} {
		m.push(nc, "", step.text)
		next(t, m.acks)
		if s := a.Send(soon(t), message(1, -1, "")); !cmp.Equal(s.To, []string{step.to}) {
			t.Errorf("step %d: %+v, want to %s", i, s, step.to)
		}
	}
	if n := len(a.now().turns); n != 1 {
		t.Errorf("turns of %d entries", n)
	}
	a.now().turns[a.now().reader.Lookup(1, -1)][0] = 65535
	for range 3 { // the counter of 16 bits goes round
		a.Send(soon(t), message(1, -1, ""))
	}
	if n := a.now().turns[a.now().reader.Lookup(1, -1)][0]; n != 2 {
		t.Error("counter", n)
	}
}

func TestReplies(t *testing.T) {
	b := started(t, Config{Handle: func(a *App, r *Received) {
		if err := a.Reply(context.Background(), r, r.Type+1, append([]byte("re: "), r.Payload...)); err != nil {
			t.Error(err)
		}
	}})
	a := given(t, "mse|1|-1|"+b.DataAddress())
	m := message(1, 5, "hi")
	copy(m.XID[:], "0123456789abcdef0123456789abcdef")
	if s := a.Send(soon(t), m); s.State != OK {
		t.Fatal(s)
	}
	got := received(t, a)
	if got.Type != 2 || got.SubID != 5 || string(got.Payload) != "re: hi" || got.XID != m.XID || string(got.Src) != b.ID() {
		t.Errorf("%+v", got.Message)
	}
	// Without a source the answer comes on the same connection.
	nc, err := net.Dial("tcp", b.DataAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	write(t, nc, message(1, -1, "raw"))
	frame, err := proto.NewReader(nc, 0).Next()
	if err != nil {
		t.Fatal(err)
	}
	var answer proto.Message
	if err := proto.Parse(frame, &answer); err != nil || string(answer.Payload) != "re: raw" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestCalls(t *testing.T) {
	wrong := make(chan byte, 1)
	b := started(t, Config{Handle: func(a *App, r *Received) {
		switch {
		case string(r.Payload) == "silence":
			return
		case string(r.Payload) == "wrong":
			r.XID[31]++ // all 32 bytes count
			wrong <- r.CallID()
		case string(r.Payload) == "wrong id":
			r.Data1[0]++
			wrong <- r.CallID()
		}
		if !r.IsCall() || r.CallID() < firstCallID {
			t.Errorf("flags %x, call id %d", r.Flags, r.CallID())
		}
		_ = a.Reply(context.Background(), r, r.Type+1, []byte("yes"))
	}})
	a := given(t, "mse|1|-1|"+b.DataAddress())
	for range 600 { // more than there are call ids
		got, err := a.Call(soon(t), message(1, -1, "hello"))
		if err != nil || string(got.Payload) != "yes" || got.IsCall() {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	var failed *CallError
	if _, err := a.Call(t.Context(), message(1, -1, "silence")); !errors.As(err, &failed) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	for i, how := range []string{"wrong", "wrong id"} {
		late := uint64(i + 1)
		ctx, cancel := context.WithCancel(soon(t))
		go func() {
			<-wrong
			_ = a.Wait(ctx, "late", func(a *App) bool { return a.Stats().Late == late })
			cancel()
		}()
		if _, err := a.Call(ctx, message(1, -1, how)); !errors.Is(err, context.Canceled) || a.Stats().Late != late {
			t.Error(how, err, a.Stats())
		}
	}
	if _, err := a.Call(soon(t), message(2, -1, "")); !errors.As(err, &failed) || failed.Sent.State != NoEndpoint || !strings.Contains(err.Error(), "no endpoint") {
		t.Error(err)
	}
}

func TestQueueDropsTheNewest(t *testing.T) {
	b := started(t, Config{Queue: 2})
	a := given(t, "mse|1|-1|"+b.DataAddress())
	for _, text := range []string{"1", "2", "3"} {
		a.Send(soon(t), message(1, -1, text))
	}
	wait(t, b, "full", func(b *App) bool { return b.Stats().Dropped == 1 })
	if got := string(received(t, b).Payload) + string(received(t, b).Payload); got != "12" {
		t.Error(got)
	}
}
