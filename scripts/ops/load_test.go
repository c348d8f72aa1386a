package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// creating creates topics one after the other, each through another node, until it is stopped.
type creating struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	changed chan struct{}
	last    time.Time
	made    made
}

// made is what became of the creates.
type made struct {
	acked, failed, unknown []string
	// gap is the longest time between two acknowledged creates.
	gap time.Duration
}

// startCreating starts it; the topics' names begin with the prefix. It ends with the test.
func startCreating(t *testing.T, nodes []*floetest.Node, prefix string) *creating {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &creating{cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}), last: time.Now()}
	var clients []*client.Client
	for _, n := range nodes {
		clients = append(clients, n.Client(5*time.Second))
	}
	go func() {
		defer close(l.done)
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("%s%d", prefix, i)
			_, err := clients[i%len(clients)].Create(ctx, name)
			if ctx.Err() == nil {
				l.note(name, err)
			}
		}
	}()
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *creating) note(name string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kind *api.Error
	switch {
	case err == nil:
		l.made.acked = append(l.made.acked, name)
		l.made.gap = max(l.made.gap, time.Since(l.last))
		l.last = time.Now()
	case errors.As(err, &kind) && kind.Kind == api.UnknownOutcome:
		l.made.unknown = append(l.made.unknown, name)
	default:
		l.made.failed = append(l.made.failed, name)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait waits until n more creates are acknowledged.
func (l *creating) wait(t *testing.T, n int) {
	t.Helper()
	late := time.After(floetest.Patience)
	l.mu.Lock()
	want := len(l.made.acked) + n
	l.mu.Unlock()
	for {
		l.mu.Lock()
		have, changed := len(l.made.acked), l.changed
		l.mu.Unlock()
		if have >= want {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d creates acknowledged within %v, want %d", have, floetest.Patience, want)
		}
	}
}

// stop ends it and returns what became of the creates. It may be called again.
func (l *creating) stop() made {
	l.cancel()
	<-l.done
	return l.made
}

// missing fails the test where a topic is not on the node.
func missing(t *testing.T, n *floetest.Node, acked []string) {
	t.Helper()
	have := names(t, n)
	for _, name := range acked {
		if !slices.Contains(have, name) {
			t.Errorf("%s: acknowledged topic %s is missing", n.ID, name)
		}
	}
}
