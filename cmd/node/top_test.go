package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"floe/transport/http/api"
)

func TestRates(t *testing.T) {
	was := api.Top{Events: api.Counts{Offered: 10, Delivered: 10}, Messages: api.Counts{Offered: 50},
		Topics:    []api.TopicTraffic{{Name: "A", Published: 4, Links: []api.LinkTraffic{{To: "B", Forwarded: 4}}}},
		Endpoints: []api.EndpointTraffic{{Name: "x:1", Counts: api.Counts{Offered: 7}}}, Routes: []api.RouteTraffic{{MType: 7, SubID: -1, Messages: 10}}}
	now := api.Top{Nodes: []string{"n1"}, Events: api.Counts{Offered: 30, Delivered: 20, Queued: 10}, Messages: api.Counts{Offered: 20},
		Topics:    []api.TopicTraffic{{Name: "A", Published: 8, Offered: 2, Links: []api.LinkTraffic{{To: "B", Forwarded: 8}, {To: "C", Forwarded: 20}}}, {Name: "B", Published: 100}},
		Endpoints: []api.EndpointTraffic{{Name: "w:1"}, {Name: "x:1", Counts: api.Counts{Offered: 9, Dropped: 2}, Dead: true}},
		Routes:    []api.RouteTraffic{{MType: 7, SubID: -1, Messages: 14}, {MType: 7, SubID: 3, Messages: 6}}}
	got := ratesOf(was, now, 2*time.Second)
	want := topRates{Seconds: 2, Nodes: []string{"n1"}, Events: rates{Offered: 10, Delivered: 5, Queued: 10},
		Topics:    []topicRate{{Name: "B", Published: 50}, {Name: "A", Published: 2, rates: rates{Offered: 1}}},
		Links:     []linkRate{{From: "A", To: "C", Forwarded: 10}, {From: "A", To: "B", Forwarded: 2}},
		Endpoints: []endpointRate{{Name: "x:1", rates: rates{Offered: 1, Dropped: 1}, Dead: true}, {Name: "w:1"}},
		Routes:    []routeRate{{MType: 7, SubID: 3, Messages: 3}, {MType: 7, SubID: -1, Messages: 2}}}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(topicRate{}, endpointRate{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	got.cut(1)
	if len(got.Topics) != 1 || len(got.Links) != 1 || len(got.Endpoints) != 1 || len(got.Routes) != 1 || got.Topics[0].Name != "B" {
		t.Errorf("cut: %+v", got)
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 69 << 30: "69.0 GiB", 700 << 20: "700 MiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
