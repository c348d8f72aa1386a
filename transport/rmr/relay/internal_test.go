package relay

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/routing"
	"floe/transport/rmr/proto"
)

// frames are frames of the given lengths, one after the other.
func frames(lengths ...int) (all []byte) {
	for _, n := range lengths {
		f := make([]byte, n)
		binary.LittleEndian.PutUint32(f, uint32(n))
		all = append(all, f...)
	}
	return all
}

func TestChunkCountsWholeFrames(t *testing.T) {
	c := newChunk(chunkSize)
	for _, n := range []int{400, 500, 600} {
		c.add(frames(n))
	}
	for _, step := range []struct{ write, msgs, bytes, rest int }{
		{399, 0, 0, 1101}, {1, 1, 400, 1100}, {700, 1, 500, 400}, {0, 0, 0, 400}, {400, 1, 600, 0},
	} {
		msgs, bytes := c.wrote(step.write)
		if msgs != step.msgs || bytes != step.bytes || len(c.rest()) != step.rest {
			t.Errorf("%d written: %d messages, %d bytes, %d left, want %+v", step.write, msgs, bytes, len(c.rest()), step)
		}
	}
	c.free()
	c = newChunk(chunkSize + 1)
	c.add(frames(700))
	c.add(frames(800))
	c.wrote(1000)
	if c.restart(); len(c.rest()) != 800 || c.msgs != 1 {
		t.Errorf("after a restart: %d bytes, %d messages", len(c.rest()), c.msgs)
	}
}

func key(xid string, endpoint uint64, call byte) asker {
	k := asker{endpoint: endpoint, call: call}
	copy(k.xid[:], xid)
	return k
}

func TestMemoryIsBounded(t *testing.T) {
	const size, age = 256, 1000
	m := newMemory(size, age)
	for i := range 100 * size {
		k := key(fmt.Sprint(i), 1, 0)
		k.inlet, k.at = uint64(i+1), int64(i)
		m.put(&k)
		if got := m.find(&k, int64(i)); got != k.inlet {
			t.Fatalf("message %d is of %d", i, got)
		}
	}
	known := 0
	for i := range 100 * size {
		k := key(fmt.Sprint(i), 1, 0)
		if got := m.find(&k, 100*size); got != 0 {
			known++
			if got != uint64(i+1) || 100*size-i > age {
				t.Errorf("message %d is of %d", i, got)
			}
		}
	}
	if known < size/2 || known > size {
		t.Errorf("%d of the latest %d are known", known, size)
	}
	newest := key(fmt.Sprint(100*size-1), 1, 0)
	for name, other := range map[string]asker{"endpoint": {xid: newest.xid, endpoint: 2}, "call": {xid: newest.xid, endpoint: 1, call: 1}} {
		if m.find(&other, 100*size) != 0 {
			t.Errorf("another %s makes no difference", name)
		}
	}
	if m.find(&newest, 100*size+age) != 0 {
		t.Error("an old one is not forgotten")
	}
}

// A message for endpoints costs no allocation, whatever it is routed by.
func TestRoutingAllocatesNothing(t *testing.T) {
	g := fsm.New(fsm.Config{})
	update := routing.Parse("newrt | start\nmse | 1 | -1 | a:1,b:1;c:1,d:1\nmse | 2 | 5 | %meid\nmme_ar | e:1 | gnb_001_001_00019b\nnewrt | end\n", routing.Options{})
	for i, op := range []fsm.Op{
		fsm.Init{ClusterID: "11111111-0000-0000-0000-000000000000", Instance: "IceStorm", Version: 3},
		fsm.RegisterApp{Name: "a:1", Control: []string{"10.0.0.1:4561"}},
		fsm.ChangeRoutes{Blocks: fsm.RouteBlocks(update.Update)},
	} {
		b, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := g.Apply(&raft.Log{Index: uint64(i + 1), Data: b}).(fsm.Result); !ok || a.Err() != nil {
			t.Fatal(a.Err())
		}
	}
	r := New(Config{Group: g, Queue: 1})
	defer func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is queued goes nowhere
		_ = r.Shutdown(ctx)
	}()
	for _, name := range []string{"a:1", "b:1", "c:1", "d:1", "e:1"} {
		e := r.endpoint(name)
		e.mu.Lock()
		e.connecting = true // no, but nobody shall
		e.mu.Unlock()
	}
	d := &debts{}
	router, from := newRouter(r, everybody, d), &inlet{id: 1}
	for name, m := range map[string]proto.Message{
		"groups": {Type: 1, SubID: 9, Src: []byte("a:1"), SrcIP: []byte("10.0.0.1:1"), XID: [32]byte{1}},
		"MEID":   {Type: 2, SubID: 5, Src: []byte("x:1"), MEID: []byte("gnb_001_001_00019b"), XID: [32]byte{2}},
		"none":   {Type: 3, Src: []byte("x:1")},
	} {
		frame, err := proto.Append(nil, &m)
		if err != nil {
			t.Fatal(err)
		}
		other := m
		other.Src, other.SrcIP = []byte("other:1"), nil
		if n := testing.AllocsPerRun(100, func() {
			router.route(frame, &m, from)
			router.route(frame, &other, from) // several senders on one connection
			d.list = d.list[:0]
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if e := r.endpoints; e["a:1"].counts.Offered == 0 || e["e:1"].counts.Offered == 0 {
		t.Error("nothing was routed")
	}
}

func TestAppsOfOneAddress(t *testing.T) {
	both := []fsm.App{
		{Name: "a:4560", Serial: 1, Control: []string{"a:4561", "10.0.0.1:4561"}},
		{Name: "b:4560", Serial: 2, Control: []string{"b:4561", "10.0.0.1:4561"}},
		{Name: "10.0.0.2:4560", Serial: 3, Control: []string{"10.0.0.1:4561"}},
		{Name: "[fe80::1]:4560", Serial: 4, Control: []string{"[fe80::2]:4561"}},
	}
	a := compileApps(both, nil)
	for _, tt := range []struct {
		src, srcIP, name string
		own, others      []string
	}{
		{"a:4560", "", "a:4560", []string{"a:4560"}, []string{"10.0.0.1:4560", "b:4560"}},
		{"x:1", "10.0.0.1:4560", "", []string{"x:1", "10.0.0.1:4560"}, []string{"a:4560"}},
		{"10.0.0.2:4560", "", "10.0.0.2:4560", []string{"10.0.0.2:4560"}, []string{"10.0.0.1:4560"}},
		{"", "[fe80::2]:4560", "[fe80::1]:4560", []string{"[fe80::1]:4560", "[fe80::2]:4560"}, nil},
		{"b:4561", "", "b:4560", []string{"b:4560"}, []string{"a:4560"}},
	} {
		o := a.origin(tt.src, tt.srcIP)
		if o.Name != tt.name {
			t.Errorf("%s %s is %q", tt.src, tt.srcIP, o.Name)
		}
		for _, e := range tt.own {
			if !o.has(e) {
				t.Errorf("%s %s does not own %s", tt.src, tt.srcIP, e)
			}
		}
		for _, e := range tt.others {
			if o.has(e) {
				t.Errorf("%s %s owns %s", tt.src, tt.srcIP, e)
			}
		}
	}
	acked := append([]fsm.App(nil), both...)
	acked[0].Acked = 9
	if compileApps(acked, a) != a {
		t.Error("an acknowledgement made other apps of them")
	}
	acked[0].Serial = 9
	if compileApps(acked, a) == a {
		t.Error("a new registration made no difference")
	}
}

// What a broken connection leaves is written by who ended it, where there is
// another connection already.
func TestOutboxGoesOnWithAnotherLink(t *testing.T) {
	r := New(Config{Group: fsm.New(fsm.Config{})})
	defer func() { _ = r.Shutdown(t.Context()) }()
	o := newOutbox(r, 10, 1<<20)
	o.disconnected, o.unlinked = func(*link, error) {}, func() {}
	var links, peers [2]net.Conn
	for i := range links {
		links[i], peers[i] = net.Pipe()
		defer links[i].Close()
		defer peers[i].Close()
	}
	broken, other := newLink(r, links[0]), newLink(r, links[1])
	o.link = broken
	o.put(frames(400))
	o.mu.Lock()
	o.owed = false
	o.begin()
	o.link = other
	o.mu.Unlock()
	o.put(frames(500))
	o.mu.Lock()
	o.owed = false // it was flushed while somebody wrote
	o.mu.Unlock()
	if next := o.settle(broken, 100, net.ErrClosed); next != nil {
		t.Error("it goes on writing")
	}
	got := make([]byte, 900)
	if _, err := io.ReadFull(peers[1], got); err != nil || !bytes.Equal(got, frames(400, 500)) {
		t.Errorf("%v, or other bytes", err)
	}
}
