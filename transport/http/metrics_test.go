package http_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
)

// oneGauge is a collector of one figure with an odd label, and one that can't be given.
type oneGauge struct{ good, bad *prometheus.Desc }

func (c oneGauge) Describe(out chan<- *prometheus.Desc) { out <- c.good; out <- c.bad }
func (c oneGauge) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(c.good, prometheus.GaugeValue, 1e9, "a\"\\\n}")
	out <- prometheus.NewInvalidMetric(c.bad, errNoFigure)
}

var errNoFigure = &api.Error{Kind: api.Internal, Message: "no figure"}

// A scrape has the collectors' figures beside those of runtime and process;
// what can't be given is left out. Several servers in one process don't clash.
func TestMetrics(t *testing.T) {
	figures := oneGauge{prometheus.NewDesc("floe_x", "X.", []string{"topic"}, nil), prometheus.NewDesc("floe_y", "Y.", nil, nil)}
	use := func(c *floehttp.Config) { c.Collectors = []prometheus.Collector{figures} }
	newWorld(t, use)
	w := newWorld(t, use)
	status, body, header := w.do(t, "GET", "/metrics", nil)
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("got %d %v %s", status, header, body)
	}
	if want := "# HELP floe_x X.\n# TYPE floe_x gauge\nfloe_x{topic=\"a\\\"\\\\\\n}\"} 1e+09\n"; !strings.Contains(body, want) {
		t.Errorf("got %s, want %s in it", body, want)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"floe_x", "go_goroutines", "go_memstats_heap_alloc_bytes", "process_resident_memory_bytes", "process_open_fds"} {
		if families[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	if families["floe_y"] != nil {
		t.Error("floe_y is there, without a figure")
	}
}

// slow is a collector whose scrapes last until the gate is open.
type slow struct {
	figure      *prometheus.Desc
	begun, gate chan struct{}
}

func (c slow) Describe(out chan<- *prometheus.Desc) { out <- c.figure }
func (c slow) Collect(chan<- prometheus.Metric)     { c.begun <- struct{}{}; <-c.gate }

// Four scrapes go on at a time. One more is answered with 503, counted and told of; there is room again after them.
func TestScrapesAtATime(t *testing.T) {
	var out bytes.Buffer
	figures := slow{prometheus.NewDesc("floe_x", "X.", nil, nil), make(chan struct{}, 8), make(chan struct{})}
	w := newWorld(t, func(c *floehttp.Config) {
		c.Collectors, c.Log = []prometheus.Collector{figures}, hclog.New(&hclog.LoggerOptions{Output: &out})
	})
	scrape := func() int {
		recorder := httptest.NewRecorder()
		w.calls.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		return recorder.Code
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := scrape(); got != 200 {
				t.Errorf("one of four: %d", got)
			}
		})
	}
	for range 4 {
		<-figures.begun
	}
	more := make(chan int)
	go func() { more <- scrape() }()
	select {
	case got := <-more:
		if got != 503 {
			t.Errorf("a fifth: %d", got)
		}
	case <-figures.begun:
		t.Error("a fifth goes on beside them")
		defer func() { <-more }()
	}
	close(figures.gate)
	all.Wait()
	if got := scrape(); got != 200 {
		t.Errorf("after them: %d", got)
	}
	if got := w.server.Stats().Errors[api.Limit]; got != 1 || !strings.Contains(out.String(), "call refused, it is over a limit") {
		t.Errorf("%d counted, logged %q", got, out.String())
	}
}

// counted is a hub that counted what it is told.
type counted delivery.Stats

func (c counted) Stats() delivery.Stats { return delivery.Stats(c) }

// The list of subscribers says how each one is doing on the node that answers.
func TestSubscriberFigures(t *testing.T) {
	failed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	stats := delivery.Stats{Topics: []delivery.TopicStats{{
		ID: 1, Name: "A", Passed: map[uint64]uint64{5: 7},
		Receivers: []delivery.ReceiverStats{{
			Serial: 3, Counts: delivery.Counts{Offered: 9, Delivered: 2, Dropped: [7]uint64{delivery.QueueFull: 3, delivery.Refused: 1}, Queued: 3},
			QueuedBytes: 300, Oldest: 1500 * time.Millisecond, State: "retrying", Address: "tcp 127.0.0.1:1", LastError: "connection refused", LastFailure: failed,
		}},
	}}}
	w := newWorld(t, func(c *floehttp.Config) { c.Figures = counted(stats) })
	subscribe := func(name string) fsm.Op {
		return fsm.Subscribe{Topic: "A", Subscription: topics.Subscription{Identity: topics.Identity{Name: name}}}
	}
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, subscribe("s1"), subscribe("s2"), fsm.Link{From: "A", To: "B"})
	status, body, _ := w.do(t, "GET", "/v1/subscribers?topic=A", nil)
	want := `[{"topic":"A","identity":"s1","link":false,"serial":3,"state":"retrying","offered":9,"delivered":2,"dropped":{"queue_full":3,"refused":1},"queued":3,` +
		`"queued_bytes":300,"oldest_seconds":1.5,"address":"tcp 127.0.0.1:1","last_error":"connection refused","last_failure":"2026-01-02T02:04:05Z"},` +
		`{"topic":"A","identity":"s2","link":false,"serial":4,"state":"idle","offered":0,"delivered":0,"dropped":{},"queued":0,"queued_bytes":0,"oldest_seconds":0},` +
		`{"topic":"A","identity":"IceStorm/topic.B","link":true,"serial":5,"forwarded":7}]`
	if d := cmp.Diff(want, body); status != 200 || d != "" {
		t.Errorf("got %d:\n%s", status, d)
	}
}

// A link that leaves the cluster tells in lists how it is; others have
// nothing to tell.
func TestLinkFigures(t *testing.T) {
	stats := delivery.Stats{Topics: []delivery.TopicStats{{
		ID: 1, Name: "A", Receivers: []delivery.ReceiverStats{{Serial: 4, Link: true, State: "retrying", LastError: "refused"}},
	}}}
	w := newWorld(t, func(c *floehttp.Config) { c.Figures = counted(stats) })
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.Link{From: "A", To: "B"},
		fsm.Link{From: "A", Remote: &topics.Remote{Identity: topics.Identity{Name: "topic.T", Category: "Storm"}}})
	for _, path := range []string{"/v1/links", "/v1/links?topic=A"} {
		_, body, _ := w.do(t, "GET", path, nil)
		if strings.Count(body, `"state"`) != 1 || !strings.Contains(body, `"state":"retrying"`) || !strings.Contains(body, `"last_error":"refused"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body, _ := w.do(t, "GET", "/v1/graph", nil); strings.Contains(body, `"state"`) {
		t.Errorf("graph: %s", body)
	}
}
