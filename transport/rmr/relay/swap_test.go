package relay_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

// trace is what became of one message: the table versions of its copies.
type trace struct {
	mu     sync.Mutex
	tables [][]string // by message: the tables its copies went by
	copies int
}

func (r *trace) note(m *proto.Message, table string) {
	seq := binary.BigEndian.Uint32(m.Payload)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copies++
	r.tables[seq] = append(r.tables[seq], table)
}

// A writer swaps between two tables with equal keys as fast as it can: every
// copy of a message goes by the same table, and the versions of tables, which stand
// in a topic's name, never step back.
func TestNoMessageGoesByAMixture(t *testing.T) {
	const messages = 20_000
	seen := &trace{tables: make([][]string, messages)}
	versions := make([]int, 0, messages)
	publish := func(topic string, m *proto.Message) {
		version, _ := strconv.Atoi(strings.TrimPrefix(topic, "v"))
		versions = append(versions, version)
		seen.note(m, string("ab"[version%2]))
	}
	g := newGroup(t)
	r := relay.New(relay.Config{Group: g, Publish: publish, Queue: messages, QueueBytes: 1 << 30})
	l := listen(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() { _ = r.Shutdown(within(t)) }()
	wg.Go(func() { _ = r.Serve(l) })

	ends := map[string][2]*rawPeer{"a": {rawApp(t), rawApp(t)}, "b": {rawApp(t), rawApp(t)}}
	stop := make(chan struct{})
	for table, pair := range ends {
		for _, p := range pair {
			wg.Go(func() {
				for {
					select {
					case f := <-p.frames:
						m := parse(t, f)
						seen.note(&m, table)
					case <-stop:
						return
					}
				}
			})
		}
	}
	swaps := 0
	swap := func() {
		pair := ends[string("ab"[swaps%2])]
		g.load(fmt.Sprintf("mse | 1 | -1 | %s; %s; topic:v%d", pair[0].name, pair[1].name, swaps), fmt.Sprintf("mse | 2 | -1 | %s", pair[0].name))
		swaps++
	}
	swap()
	eventually(t, "there is a table", func() bool { return r.Stats().Version > 0 })
	swapping, swapped := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		defer close(swapped)
		for {
			select {
			case <-swapping:
				return
			default:
				swap()
			}
		}
	})
	nc := dial(t, l.Addr().String())
	var batch []byte
	last := uint64(0)
	for i := range messages {
		batch = append(batch, frame(t, proto.Message{Type: 1, SubID: -1, Payload: binary.BigEndian.AppendUint32(nil, uint32(i))})...)
		if len(batch) > 8<<10 || i == messages-1 {
			write(t, nc, batch)
			batch = batch[:0]
			if v := r.Stats().Version; v < last {
				t.Errorf("version %d after %d", v, last)
			} else {
				last = v
			}
		}
	}
	eventually(t, "all copies arrive", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.copies == 3*messages
	})
	close(swapping)
	<-swapped
	close(stop)
	both := map[string]int{}
	for seq, tables := range seen.tables {
		if len(tables) != 3 || tables[0] != tables[1] || tables[1] != tables[2] {
			t.Fatalf("message %d went by %q", seq, tables)
		}
		both[tables[0]]++
	}
	for i := 1; i < len(versions); i++ {
		if versions[i] < versions[i-1] {
			t.Fatalf("message %d went by version %d after %d", i, versions[i], versions[i-1])
		}
	}
	if both["a"] == 0 || both["b"] == 0 {
		t.Errorf("%v with %d swaps: not both tables were met", both, swaps)
	}
	t.Logf("%d swaps, %v", swaps, both)
}

// deaf is a group whose changes nobody is told of.
type deaf struct{ *group }

func (deaf) Changed() <-chan struct{} { return nil }

// A message goes by the table that the node has when it comes, whether or not
// the relay was told of it already.
func TestMessageGoesByTheNewestTable(t *testing.T) {
	g := newGroup(t)
	r := relay.New(relay.Config{Group: deaf{g}, Source: "127.0.0.1:1"})
	defer func() { _ = r.Shutdown(within(t)) }()
	m := proto.Message{Type: 7, SubID: proto.NoSubID}
	if err := r.Send(&m); err == nil {
		t.Fatal("a message without a route was sent")
	}
	g.load("mse|7|-1|" + rawApp(t).name)
	if err := r.Send(&m); err != nil {
		t.Errorf("the message went by the table before: %v", err)
	}
}
