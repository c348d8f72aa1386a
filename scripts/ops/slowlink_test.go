package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/lab"
	"floe/transport/http/api"
)

// S04, shortened: 20 Mbit/s of events leave the leader through an interface of 1 Mbit/s. Heartbeats still get through, so
// that it stays the leader, and the subscriber on another node hears how many events it missed.
func TestSlowLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: no interface of its own, so none to slow down")
		return
	}
	l, err := lab.Create(lab.Config{Nodes: 3, Binary: floetest.Binary()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	})
	for _, n := range l.Nodes {
		if err := errors.Join(n.Congestion("reno"), n.Start()); err != nil { // the one that every kernel has; it fills queues
			t.Fatal(err)
		}
	}
	lists(t, l, l.Nodes[1], "members --json", `"voter": true`, 3)
	clients := map[string]*host{}
	for _, n := range l.Nodes {
		clients[n.Name] = newHost(t, n)
	}
	before := clients["n2"].status(t)
	leader, err := l.Node(before.Leader)
	if err != nil {
		t.Fatal(err)
	}
	at, far := clients[leader.Name], clients[l.Others([]string{leader.Name})[0]]
	at.post(t, "/v1/topics", api.NewTopic{Name: "T"})
	heard := far.subscribe(t, "T")
	flood := startFlood(at)
	within(t, "events", func() bool { return heard.received.Load() > 100 })
	shape(t, leader, "1mbit")
	<-time.After(15 * time.Second) // how long the link is slow
	count := heard.received.Load()
	dropped, err := leader.Dropped()
	if err != nil {
		t.Fatal(err)
	}
	shape(t, leader, "")
	within(t, "more events", func() bool { return heard.received.Load() > count+100 })
	flood.stop(t)
	within(t, "the last events", func() bool {
		return heard.received.Load()+heard.missed.Load() >= flood.published.Load()
	})
	t.Logf("%d published, %d received (%d over the slow link), %d missed; the interface dropped %d packets", flood.published.Load(), heard.received.Load(), count, heard.missed.Load(), dropped)
	if got, want := heard.received.Load()+heard.missed.Load(), flood.published.Load(); got != want {
		t.Errorf("%d events received or missed, %d published", got, want)
	}
	if heard.missed.Load() == 0 {
		t.Error("nothing was missed: the link was not slow")
	}
	if gap := heard.gap.Load(); gap != nil {
		t.Errorf("the stream broke: %s", *gap)
	}
	if dropped > 5 {
		t.Errorf("the interface dropped %d packets, those of heartbeats maybe: events fill its queue", dropped)
	}
	after := far.status(t)
	if after.Leader != before.Leader || after.Term != before.Term {
		t.Errorf("leader %s in term %d, before %s in term %d", after.Leader, after.Term, before.Leader, before.Term)
	}
}

func shape(t *testing.T, n *lab.Node, rate string) {
	t.Helper()
	if err := n.Shape(rate); err != nil {
		t.Fatal(err)
	}
}

func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	floetest.Eventually(t, floetest.Patience, func() error {
		if !ok() {
			return fmt.Errorf("no %s", what)
		}
		return nil
	})
}

// host is a client on a node's own host: nothing of what it says leaves by the node's interface.
type host struct {
	http *http.Client
	base string
}

func newHost(t *testing.T, n *lab.Node) *host {
	transport := &http.Transport{DialContext: n.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &host{&http.Client{Transport: transport}, "http://" + n.HTTP()}
}

func (h *host) send(path string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := h.http.Post(h.base+path, "application/json", bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", path, r.Status)
	}
	return json.NewDecoder(r.Body).Decode(new(any))
}

func (h *host) post(t *testing.T, path string, body any) {
	t.Helper()
	if err := h.send(path, body); err != nil {
		t.Fatal(err)
	}
}

func (h *host) status(t *testing.T) api.Status {
	t.Helper()
	r, err := h.http.Get(h.base + "/v1/status?stale=1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var s api.Status
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// hearing counts what a native subscriber is told.
type hearing struct {
	received, missed atomic.Uint64
	gap              atomic.Pointer[string]
}

func (h *host) subscribe(t *testing.T, topic string) *hearing {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+"/v1/events?topic="+topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	heard := &hearing{}
	var reader sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		reader.Wait()
	})
	reader.Go(func() {
		defer answer.Body.Close()
		for lines := json.NewDecoder(answer.Body); ; {
			var ev api.Event
			if lines.Decode(&ev) != nil {
				return
			}
			heard.take(ev)
		}
	})
	return heard
}

func (h *hearing) take(ev api.Event) {
	h.missed.Add(ev.Missed)
	if ev.Gap != "" {
		h.gap.Store(&ev.Gap)
	}
	if ev.Received != nil {
		h.received.Add(1)
	}
}

// flooding publishes events of 4 KB, 20 Mbit/s in all.
type flooding struct {
	published atomic.Uint64
	over      chan struct{}
	ended     chan error
}

func startFlood(at *host) *flooding {
	f := &flooding{over: make(chan struct{}), ended: make(chan error, 1)}
	go func() { f.ended <- f.run(at) }()
	return f
}

func (f *flooding) run(at *host) error {
	event := api.Publish{Topic: "T", Data: make([]byte, 4096)}
	tick := time.NewTicker(time.Second / 600)
	defer tick.Stop()
	for {
		select {
		case <-f.over:
			return nil
		case <-tick.C:
		}
		if err := at.send("/v1/events", event); err != nil {
			return err
		}
		f.published.Add(1)
	}
}

func (f *flooding) stop(t *testing.T) {
	t.Helper()
	close(f.over)
	if err := <-f.ended; err != nil {
		t.Fatal(err)
	}
}
