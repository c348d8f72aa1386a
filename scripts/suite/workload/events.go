package workload

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/http/api"
)

// EventLinks are the links of the events workload, FROM>TO to cost: a chain,
// so that an event that crosses two links shows, and a way back.
var EventLinks = map[string]int32{"ev-A>ev-B": 5, "ev-B>ev-C": 0, "ev-C>ev-B": -2}

// eventTopics are the topics of the events workload.
var eventTopics = []string{"ev-A", "ev-B", "ev-C"}

// Events is the workload that publishes numbered events through every node to
// subscribers beside every node.
type Events struct {
	// Log, Sent and Got are the logs of the run.
	Log, Sent, Got *history.Log
	Nodes          []Node
	Seed           uint64
	// Listen opens a listener beside a node.
	Listen Listen

	subscribers []*subscriber
}

// eventPace is how often each publisher publishes, at most.
const eventPace = 60 * time.Millisecond

// Setup makes topics and links and subscribes. The cluster is whole.
func (e *Events) Setup(ctx context.Context) error {
	c := newClient(e.Nodes[0])
	defer c.Close()
	for _, name := range eventTopics {
		p := e.Log.Invoke("setup", e.Nodes[0].Name, "create", name, nil)
		t, err := c.Create(ctx, name)
		if !end(p, "create", &history.Value{ID: t.ID}, err) {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(EventLinks)) {
		from, to := check.Ends(key)
		p := e.Log.Invoke("setup", e.Nodes[0].Name, "link", key, &history.Value{Cost: EventLinks[key]})
		_, err := c.Link(ctx, api.NewLink{From: from, To: to, Cost: EventLinks[key]})
		if !end(p, "link", nil, err) {
			return fmt.Errorf("link %s: %w", key, err)
		}
	}
	return e.subscribe()
}

// Run publishes until ctx ends.
func (e *Events) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i, n := range e.Nodes {
		for j, mode := range []string{"twoway", "oneway"} {
			p := &publisher{events: e, node: n, mode: mode, random: stream(e.Seed, 3000+2*i+j)}
			all.Go(func() {
				pace(ctx, eventPace, p.step)
				p.disconnect()
			})
		}
	}
}

// Subscribers returns who is subscribed.
func (e *Events) Subscribers() []check.Subscriber {
	var out []check.Subscriber
	for _, s := range e.subscribers {
		out = append(out, s.Subscriber)
	}
	return out
}

// Settle waits until nothing has arrived for as long as a batch may wait and
// more, and complete says that nothing is missing, or until ctx ends. What is
// late is not lost.
func (e *Events) Settle(ctx context.Context, complete func() bool) {
	const silence = 1500 * time.Millisecond
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for e.Got.Now()-e.lastArrival() < int64(silence) || !complete() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (e *Events) lastArrival() int64 {
	last := int64(0)
	for _, s := range e.subscribers {
		last = max(last, s.last.Load())
	}
	return last
}

// Close ends the subscribers.
func (e *Events) Close() {
	for _, s := range e.subscribers {
		s.server.Close()
	}
}

// payload is what an event says about itself.
func payload(topic, publisher string, seq uint64, cost int32) string {
	return fmt.Sprintf("%s %s %d %d", topic, publisher, seq, cost)
}

// parsePayload reads what payload wrote; what it can't read stays zero and is
// found by the checker.
func parsePayload(text string) (topic, publisher string, seq uint64, cost int32) {
	_, _ = fmt.Sscanf(text, "%s %s %d %d", &topic, &publisher, &seq, &cost)
	return topic, publisher, seq, cost
}

// drawCost draws a cost from -3 to 9, and its context: cost 0 mostly goes
// without one.
func drawCost(r *rand.Rand) (int32, map[string]string) {
	cost := int32(r.IntN(13) - 3)
	if cost == 0 && r.IntN(3) > 0 {
		return 0, nil
	}
	return cost, map[string]string{"cost": strconv.Itoa(int(cost))}
}
