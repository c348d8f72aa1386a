package ice

import (
	"fmt"
	"sync/atomic"
	"testing"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// countingHub counts events and keeps none.
type countingHub struct{ events atomic.Int64 }

func (h *countingHub) Topic(string) Topic { return countingTopic{h} }

type countingTopic struct{ *countingHub }

func (countingTopic) ID() topics.ID                                                    { return 1 }
func (countingTopic) Alive() bool                                                      { return true }
func (t countingTopic) Publish(*delivery.Event, *delivery.Burst)                       { t.events.Add(1) }
func (t countingTopic) Deliver(*delivery.Event, *delivery.Burst)                       { t.events.Add(1) }
func (countingTopic) PublishTo(topics.Identity, *delivery.Event, *delivery.Burst) bool { return true }

// BenchmarkPublish sends oneway events with a cost through a loopback
// connection into a hub that counts them: all that a publish costs this face,
// the making of the event included.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{16, 256, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmarkPublish(b, size) })
	}
}

func benchmarkPublish(b *testing.B, size int) {
	hub := &countingHub{}
	f := startFace(b, newGroup(b, "IceStorm", makeTopics("a")...), func(c *Config) { c.Hub = hub })
	c := f.dial(b)
	r := proto.Request{Identity: obj("IceStorm", "a.publish"), Operation: []byte("tick"), Context: proto.NewContext(map[string]string{"cost": "1"}),
		Encaps: encapsulate(func(dst []byte) []byte { return append(dst, make([]byte, size)...) })}
	event := proto.AppendRequest(nil, &r)
	n := max(1, 60_000/len(event))
	var batch []byte
	for range n {
		batch = append(batch, event...)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	b.ResetTimer()
	for left := b.N; left > 0; left -= n {
		c.send(batch[:min(left, n)*len(event)])
	}
	if r := c.call(r.Identity, "last", 0, nil); r.Err() != nil {
		b.Fatal(r.Err())
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	if got := hub.events.Load(); got != int64(b.N)+1 {
		b.Errorf("%d events, want %d", got, b.N+1)
	}
}
