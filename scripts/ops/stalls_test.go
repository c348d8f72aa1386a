package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/lab"
	"floe/transport/http/api"
)

// usualStalls is how long disks stall in TestStallsOnABusyMachine unless FLOE_STALLS says otherwise. For the hour of the
// promise:
//
//	FLOE_STALLS=1h go test ./scripts/ops -run StallsOnABusyMachine -count 1 -timeout 70m -v
const usualStalls = 15 * time.Second

// Every second the disk of a node, each in its turn, takes no write for 300 ms, while other programs keep nine tenths of all
// processors busy and topics are made: no election with the usual timing, and no topic is refused.
func TestStallsOnABusyMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: no disks of their own, so none to stall")
		return
	}
	length := usualStalls
	if v := os.Getenv("FLOE_STALLS"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatal("FLOE_STALLS:", err)
		}
	}
	l, err := lab.Create(lab.Config{Nodes: 3, Binary: floetest.Binary(), Disks: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	})
	for _, n := range l.Nodes {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	lists(t, l, l.Nodes[1], "members --json", `"voter": true`, 3)
	at := newHost(t, l.Nodes[0])
	before := at.status(t)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	keepBusy(t, ctx)
	made := make(chan makes, 1)
	go func() { made <- at.make(ctx) }()
	stalls, err := stallInTurn(ctx, l)
	if err != nil {
		t.Error(err)
	}
	m := <-made
	if m.err != nil {
		t.Error(m.err)
	}
	for _, n := range l.Nodes {
		if after := newHost(t, n).status(t); after.Leader != before.Leader || after.Term != before.Term {
			t.Errorf("%s says: leader %s in term %d, before %s in term %d", n.Name, after.Leader, after.Term, before.Leader, before.Term)
		}
	}
	t.Logf("%v, %d stalls, %d topics made, the slowest in %v", length, stalls, m.count, m.slowest)
	if stalls == 0 || m.count == 0 {
		t.Error("nothing happened")
	}
}

// keepBusy has this process use nine tenths of each processor until ctx ends, 9 ms of every 10 ms.
func keepBusy(t *testing.T, ctx context.Context) {
	for range runtime.NumCPU() {
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case start := <-tick.C:
					for time.Since(start) < 9*time.Millisecond {
						continue
					}
				}
			}
		}()
	}
}

// stallInTurn stalls one disk after the other until ctx ends, and returns how many stalls there were.
func stallInTurn(ctx context.Context, l *lab.Lab) (stalls int, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ; ; stalls++ {
		select {
		case <-ctx.Done():
			return stalls, nil
		case <-tick.C:
		}
		n := l.Nodes[stalls%len(l.Nodes)]
		err := n.Freeze()
		<-time.After(300 * time.Millisecond) // how long the stall is
		if err := errors.Join(err, n.Thaw()); err != nil {
			return stalls, err
		}
	}
}

// makes are the topics that were made.
type makes struct {
	count   int
	slowest time.Duration
	err     error
}

// make makes a topic every 50 ms until ctx ends; one that is under way then is waited for.
func (h *host) make(ctx context.Context) (m makes) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; ; m.count++ {
		select {
		case <-ctx.Done():
			return m
		case <-tick.C:
		}
		start := time.Now()
		if m.err = h.send("/v1/topics", api.NewTopic{Name: fmt.Sprintf("t%d", m.count)}); m.err != nil {
			return m
		}
		m.slowest = max(m.slowest, time.Since(start))
	}
}
