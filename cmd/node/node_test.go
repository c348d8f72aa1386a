package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// start starts a node in this process and stops it at the test's end.
func start(t *testing.T, flags ...string) (r *running, address string) {
	t.Helper()
	r, address, ok := startNode(append(append([]string{"--data", t.TempDir()}, freePorts...), flags...)...)
	t.Cleanup(func() { r.end(); r.done <- 0 })
	if !ok {
		t.Fatalf("no node: %s%s", r.out.String(), r.err.String())
	}
	return r, address
}

// A node leaves nothing behind, clients that are still connected included.
func TestStopLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	r, address := start(t)
	idle, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	subscribed, err := http.Get("http://" + address + "/v1/events?topic=none")
	if err != nil {
		t.Fatal(err)
	}
	subscribed.Body.Close()
	began := time.Now()
	if code := r.end(); code != 0 {
		t.Errorf("ended with %d: %s", code, r.err.String())
	}
	r.done <- 0
	if d := time.Since(began); d > 8*time.Second {
		t.Errorf("the stop took %s", d)
	}
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, ignore)
}

// A running event stream does not hold up a stop, and is told why it ends.
func TestStopEndsStreams(t *testing.T) {
	r, address := start(t)
	if code, _, errs := runLive(address, "create", "A"); code != 0 {
		t.Fatal(errs)
	}
	resp, err := http.Get("http://" + address + "/v1/events?topic=A")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r.cancel()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), `{"error":{"kind":"not_ready","message":"this node stops"}}`) {
		t.Errorf("got %s, %v", body, err)
	}
}

// Figures of the node are there, under the names that are promised.
func TestMetricsOfANode(t *testing.T) {
	_, address := start(t)
	if code, _, errs := runLive(address, "create", "A"); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := runLive(address, "pub", "A", "x"); code != 0 {
		t.Fatal(errs)
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`floe_events_offered_total{face="ice"} 0`, `floe_events_delivered_total{face="native"} 0`,
		`floe_events_dropped_total{face="ice",reason="queue_full"} 0`, `floe_events_queued{face="ice"} 0`,
		`floe_topic_published_total{topic="A"} 1`, `floe_bad_input_total{listener="peer"} 0`, `floe_bad_input_total{listener="tcp"} 0`,
		`floe_http_errors_total{kind="limit_reached"} 0`, `floe_http_errors_total{kind="too_large"} 0`, `floe_nbi_calls_total{outcome="failed"} 0`, "floe_peer_calls_refused_total 0",
		"floe_leader 1", "floe_ready 1", "floe_topics 1", "floe_voters 1", "floe_leader_contact_seconds 0",
	} {
		if !strings.Contains(string(body), "\n"+want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

// Levels and bounds change while the node runs, and wrong values are refused.
func TestSettingsChangeLive(t *testing.T) {
	r, address := start(t, "--log-level", "warn")
	set := func(body string) (int, string) {
		resp, err := http.Post("http://"+address+"/v1/settings", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, body := set(`{"name":"log-level","value":"info"}`); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := set(`{"name":"queue-events","value":"5"}`); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	if !strings.Contains(r.err.String(), "setting=queue-events value=5") {
		t.Errorf("no line at level info: %s", r.err.String())
	}
	for _, bad := range []string{`{"name":"log-level","value":"loud"}`, `{"name":"queue-events","value":"0"}`, `{"name":"data","value":"x"}`, `{"name":"queue-policy","value":""}`} {
		if status, body := set(bad); status != 400 {
			t.Errorf("%s: got %d %s", bad, status, body)
		}
	}
}

// runLive runs one command line against a node.
func runLive(address string, args ...string) (code int, stdout, stderr string) {
	var out, errs safeBuffer
	code = run(context.Background(), append(args, "--addr", address), stdio{strings.NewReader(""), &out, &errs, noEnv})
	return code, out.String(), errs.String()
}
