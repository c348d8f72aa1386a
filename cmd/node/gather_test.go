package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"floe/fsm"
	"floe/scripts/suite/ice"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
	rmr "floe/transport/rmr/proto"
)

// scraped are the families of one scrape, by name.
type scraped map[string]*dto.MetricFamily

// scrapeNode scrapes a node with Prometheus' own parser, and checks what
// holds in every scrape.
func scrapeNode(t *testing.T, address string) scraped {
	t.Helper()
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("got %d %s, %v", resp.StatusCode, body, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"# HELP ", "# TYPE "} {
		if got := strings.Count(string(body), word); got != len(families) {
			t.Errorf("%d lines %s for %d families", got, word, len(families))
		}
	}
	all := scraped(families)
	all.checkSums(t)
	return all
}

// checkSums checks that offered = delivered + dropped + queued.
func (s scraped) checkSums(t *testing.T) {
	t.Helper()
	for prefix, label := range map[string]string{
		"floe_events": "face", "floe_subscriber": "subscriber", "floe_link": "target", "floe_messages": "", "floe_endpoint": "endpoint",
	} {
		offered, rest := s.sums(prefix+"_offered_total", label), map[string]float64{}
		for _, name := range []string{"_delivered_total", "_dropped_total", "_queued"} {
			for key, v := range s.sums(prefix+name, label) {
				rest[key] += v
			}
		}
		if !maps.Equal(offered, rest) {
			t.Errorf("%s: offered %v, delivered + dropped + queued %v", prefix, offered, rest)
		}
	}
}

// sums adds up a family by topic and one more label.
func (s scraped) sums(name, label string) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range s[name].GetMetric() {
		l := labelsOf(m)
		sums[l["topic"]+" "+l[label]] += sampleValue(m)
	}
	return sums
}

// of returns the one sample with these labels, names and values in turn; -1
// where there is none.
func (s scraped) of(name string, labels ...string) float64 {
	for _, m := range s[name].GetMetric() {
		l := labelsOf(m)
		all := len(l) == len(labels)/2
		for i := 0; i < len(labels); i += 2 {
			all = all && l[labels[i]] == labels[i+1]
		}
		if all {
			return sampleValue(m)
		}
	}
	return -1
}

func labelsOf(m *dto.Metric) map[string]string {
	l := map[string]string{}
	for _, p := range m.GetLabel() {
		l[p.GetName()] = p.GetValue()
	}
	return l
}

func sampleValue(m *dto.Metric) float64 { return m.GetCounter().GetValue() + m.GetGauge().GetValue() }

// U03: what a link forwards is counted per event, not per call, and the
// figures of each subscriber add up in every scrape.
func TestForwardedCountsEvents(t *testing.T) {
	r, address := start(t)
	at, ok := r.out.await(`listening for ice +(\S+)`, nil)
	if !ok {
		t.Fatal(r.out.String())
	}
	odd := "o\"d\\d\n{x=\"1\"} ä"
	if code, _, errs := runLive(address, "create", "A", "B", "C", odd); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := runLive(address, "link", "A", "B"); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := runLive(address, "pub", odd, "x"); code != 0 {
		t.Fatal(errs)
	}
	c, err := ice.Dial(at, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// One subscriber is the publisher of C, the other is not there.
	subscribe(t, c, "B", publisher(t, c, "C"))
	subscribe(t, c, "B", nobody(t))
	publishBatch(t, at, publisher(t, c, "A").Identity, 100)

	var now scraped
	waitFor(t, func() bool {
		now = scrapeNode(t, address)
		return now.of("floe_subscriber_delivered_total", "topic", "B", "subscriber", "IceStorm/C.publish") == 100 &&
			now.of("floe_subscriber_state", "topic", "B", "subscriber", "nobody", "state", "retrying") == 1
	})
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{100, "floe_topic_published_total", []string{"topic", "A"}},
		{100, "floe_link_forwarded_total", []string{"topic", "A", "target", "B"}},
		{100, "floe_topic_published_total", []string{"topic", "C"}},
		{1, "floe_topic_published_total", []string{"topic", odd}},
		{100, "floe_subscriber_offered_total", []string{"topic", "B", "subscriber", "nobody"}},
		{100, "floe_subscriber_queued", []string{"topic", "B", "subscriber", "nobody"}},
		{1, "floe_topic_receivers_failing", []string{"topic", "B"}},
		{200, "floe_events_offered_total", []string{"face", "ice"}},
		{1, "floe_raft_state", []string{"state", "leader"}},
		{1, "floe_links", nil},
		{2, "floe_subscriptions", nil},
		{1, "floe_gossip_members", nil},
		{1, "floe_leader_changes_total", nil},
		{0, "floe_store_failed", nil},
		{0, "floe_connections_refused_total", []string{"listener", "tcp"}},
	} {
		if got := now.of(want.name, want.labels...); got != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	for _, name := range []string{"floe_raft_term", "floe_raft_commit_index", "floe_raft_last_index", "floe_raft_applied_index", "floe_store_bytes"} {
		if now.of(name) <= 0 {
			t.Errorf("%s: got %v", name, now.of(name))
		}
	}
	if now.of("floe_subscriber_oldest_seconds", "topic", "B", "subscriber", "nobody") <= 0 {
		t.Error("the oldest event has no age")
	}
	_, list, _ := runLive(address, "subscribers", "--json", "B")
	if !strings.Contains(list, `"last_error": "`) || !strings.Contains(list, `"queued": 100`) || !strings.Contains(list, `"delivered": 100`) {
		t.Errorf("got %s", list)
	}
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		if cond() || t.Failed() {
			return
		}
		<-tick.C
	}
	t.Error("it never came to that")
}

func publisher(t *testing.T, c *ice.Conn, topic string) proto.Proxy {
	t.Helper()
	p, err := c.Publisher(proto.Identity{Name: "topic." + topic, Category: "IceStorm"}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func subscribe(t *testing.T, c *ice.Conn, topic string, subscriber proto.Proxy) {
	t.Helper()
	err := c.Subscribe(proto.Identity{Name: "topic." + topic, Category: "IceStorm"}, map[string]string{"retryCount": "-1"}, subscriber, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
}

// nobody is a subscriber at a port where nothing listens.
func nobody(t *testing.T) proto.Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p, err := proto.ParseProxy(fmt.Sprintf("nobody:tcp -h 127.0.0.1 -p %d", l.Addr().(*net.TCPAddr).Port))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// publishBatch publishes n events in one batch request.
func publishBatch(t *testing.T, address string, target proto.Identity, n int) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, proto.HeaderSize)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(eventBatch(target, n)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(proto.AppendClose(nil)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the server has read it all
}

// What was offered is delivered, dropped or queued, at every scrape, also
// while events and messages come by the thousand and queues overflow.
func TestSumsHoldUnderLoad(t *testing.T) {
	r, address := start(t, "--queue-events", "50")
	iceAt, ok := r.out.await(`listening for ice +(\S+)`, nil)
	rmrAt, too := r.out.await(`listening for rmr +(\S+)`, nil)
	if !ok || !too {
		t.Fatal(r.out.String())
	}
	for _, args := range [][]string{{"create", "A", "B", "C"}, {"link", "A", "B"}, {"routes", "relay", "on"}} {
		if code, _, errs := runLive(address, args...); code != 0 {
			t.Fatal(args, errs)
		}
	}
	gone := nobody(t).Endpoints[0]
	routes := filepath.Join(t.TempDir(), "routes.rt")
	if err := os.WriteFile(routes, fmt.Appendf(nil, "newrt|start\nmse|1|-1|%s:%d\nmse|2|-1|topic:A\nnewrt|end\n", gone.Host, gone.Port), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runLive(address, "routes", "load", routes); code != 0 {
		t.Fatal(errs)
	}
	c, err := ice.Dial(iceAt, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	subscribe(t, c, "B", publisher(t, c, "C"))
	subscribe(t, c, "B", nobody(t))

	events := eventBatch(publisher(t, c, "A").Identity, 100)
	var messages []byte
	for i := range 100 {
		if messages, err = rmr.Append(messages, &rmr.Message{Type: int32(i%3 + 1), SubID: -1, Src: []byte("load:1"), Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var load sync.WaitGroup
	for at, bytes := range map[string][]byte{iceAt: events, rmrAt: messages} {
		load.Go(func() { flood(t, at, bytes, stop) })
	}
	defer load.Wait()
	defer close(stop)

	var now scraped
	scrapes := 0
	waitFor(t, func() bool {
		now = scrapeNode(t, address)
		scrapes++
		return scrapes >= 100 && now.of("floe_subscriber_delivered_total", "topic", "B", "subscriber", "IceStorm/C.publish") > 10_000 &&
			now.of("floe_subscriber_dropped_total", "topic", "B", "subscriber", "nobody") > 1000 && now.of("floe_messages_dropped_total", "reason", "no_entry") > 1000 &&
			now.of("floe_messages_published_total") > 1000 && now.of("floe_endpoint_dropped_total", "endpoint", fmt.Sprintf("%s:%d", gone.Host, gone.Port)) > 0
	})
	if t.Failed() {
		t.Logf("after %d scrapes: %v", scrapes, now)
	}
	if went, came := now.of("floe_route_messages_total", "mtype", "2", "subid", "-1"), now.of("floe_messages_received_total", "listener", "rmr"); went <= 1000 || came < 3*went-300 {
		t.Errorf("%v messages by the route to a topic, %v came for three types", went, came)
	}
}

// flood writes the same bytes again and again, and throws away what is answered.
func flood(t *testing.T, at string, b []byte, stop <-chan struct{}) {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Error(err)
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() { _, _ = io.Copy(io.Discard, conn) }) // ends with the connection
	defer answers.Wait()
	defer conn.Close()
	for {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := conn.Write(b); err != nil {
			t.Error(err)
			return
		}
	}
}

// eventBatch is a batch request of n events.
func eventBatch(target proto.Identity, n int) []byte {
	b, at := proto.BeginBatch(nil)
	for range n {
		b = append(append(b, proto.AppendTarget(nil, target, "")...), proto.AppendTail(nil, "message", proto.ModeNormal, proto.Context{}, ice.Text("x"))...)
	}
	return proto.EndBatch(b, at, n, 0)
}

// A scrape stays bounded: 1000 topics, links and receivers have figures of
// their own, the most troubled receivers first, and nothing is lost in the sums.
func TestScrapesAreBounded(t *testing.T) {
	const n = 10_000
	f, lost := manyTopics(t, n)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&gatherer{look: func() figures { return f }})
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got, samples := scraped{}, 0
	for _, family := range all {
		got[family.GetName()] = family
		samples += len(family.GetMetric())
		if most := 1002; len(family.GetMetric()) > most {
			t.Errorf("%s has %d samples, want %d at most", family.GetName(), len(family.GetMetric()), most)
		}
	}
	if samples > 15_000 { // as http.md says, less what endpoints and routes would have
		t.Errorf("%d samples for %d topics", samples, n)
	}
	got.checkSums(t)
	for name, want := range map[string]float64{
		"floe_topic_published_total": n * (n + 1) / 2, "floe_link_forwarded_total": 3 * (n - 1), "floe_subscriber_offered_total": n*10 + 500,
	} {
		sum := 0.0
		for _, m := range got[name].GetMetric() {
			sum += sampleValue(m)
		}
		if sum != want {
			t.Errorf("%s: the sum is %v, want %v", name, sum, want)
		}
	}
	for _, name := range lost {
		if v := got.of("floe_subscriber_dropped_total", "topic", name, "subscriber", proto.Identity{Name: "\uFFFD" + name}.String()); v != 1 {
			t.Errorf("the subscriber of %s, which lost an event, has no figures of its own: %v", name, v)
			break
		}
	}
	if v := got.of("floe_subscriber_state", "topic", "", "subscriber", "", "state", "idle"); v != n-1000 {
		t.Errorf("got %v others idle, want %d", v, n-1000)
	}
}

// manyTopics makes a chain of n topics with one subscriber each, which all
// counted something; 500 subscribers, named in lost, lost an event.
func manyTopics(t *testing.T, n int) (f figures, lost []string) {
	t.Helper()
	state := fsm.New(fsm.Config{})
	index := uint64(0)
	apply := func(op fsm.Op) {
		b, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		index++
		if r, ok := state.Apply(&raft.Log{Index: index, Data: b}).(fsm.Result); !ok || r.Err() != nil {
			t.Fatal(r)
		}
	}
	apply(fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: 1})
	name := func(i int) string { return fmt.Sprintf("topic \"%05d\\\n", i) }
	for i := range n {
		apply(fsm.CreateTopic{Name: name(i)})
		if i > 0 {
			apply(fsm.Link{From: name(i - 1), To: name(i)})
		}
	}
	f.view = state.View()
	serial := uint64(1 << 32)
	for topic := range f.view.Graph.All() {
		i := len(f.events.Topics)
		serial++
		r := delivery.ReceiverStats{Identity: topics.Identity{Name: "\xff" + topic.Name}, Serial: serial, State: "idle", Counts: delivery.Counts{Offered: 10, Delivered: 10}}
		if i%20 == 7 {
			lost = append(lost, topic.Name)
			r.Offered++
			r.Dropped[delivery.QueueFull]++
		}
		stats := delivery.TopicStats{ID: topic.ID, Name: topic.Name, Published: uint64(i + 1), Receivers: []delivery.ReceiverStats{r}, Passed: map[uint64]uint64{}}
		for _, l := range topic.Links {
			stats.Passed[l.Serial] = 3
		}
		f.events.Topics = append(f.events.Topics, stats)
	}
	return f, lost
}
