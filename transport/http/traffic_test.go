package http_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	floehttp "floe/transport/http"
)

// The counters of topics and links are those of the node that answers; topics that are gone have none.
func TestTraffic(t *testing.T) {
	stats := delivery.Stats{Topics: []delivery.TopicStats{
		{
			ID: 1, Name: "A", Published: 9, Arrived: 2, Passed: map[uint64]uint64{3: 7},
			Receivers: []delivery.ReceiverStats{
				{Counts: delivery.Counts{Offered: 9, Delivered: 2, Dropped: [7]uint64{delivery.QueueFull: 3, delivery.Refused: 1}, Queued: 3}, State: "retrying"},
				{Counts: delivery.Counts{Offered: 1, Delivered: 1}, State: "idle"},
			},
		},
		{ID: 2, Name: "B", Published: 1},
		{ID: 99, Name: "gone", Published: 5},
	}}
	w := newWorld(t, func(c *floehttp.Config) { c.Figures = counted(stats) })
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.Link{From: "A", To: "B"},
		fsm.Link{From: "A", Remote: &topics.Remote{Identity: topics.Identity{Name: "topic.T", Category: "Storm"}}})
	a := `{"name":"A","published":9,"arrived":2,"offered":10,"delivered":3,"dropped":4,"queued":3,"failing":1,"links":[{"to":"B","forwarded":7}]}`
	b := `{"name":"B","published":1,"arrived":0,"offered":0,"delivered":0,"dropped":0,"queued":0,"failing":0}`
	for path, want := range map[string]string{
		"/v1/traffic":                `{"node":"n1","topics":[` + a + `,` + b + `]}`,
		"/v1/traffic?topic=B":        `{"node":"n1","topics":[` + b + `]}`,
		"/v1/traffic?topic=nobody":   `{"node":"n1","topics":[]}`,
		"/v1/traffic?topic=B&stale=": `{"node":"n1","topics":[` + b + `]}`,
	} {
		status, body, _ := w.do(t, "GET", path, nil)
		if d := cmp.Diff(want, body); status != 200 || d != "" {
			t.Errorf("%s: got %d:\n%s", path, status, d)
		}
	}
	if _, body, _ := newWorld(t).do(t, "GET", "/v1/traffic", nil); body != `{"node":"n1","topics":[]}` {
		t.Errorf("without figures: %s", body)
	}
}
