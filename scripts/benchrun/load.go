package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// drainLimit is how long a backlog may take to be delivered once the publisher has ended.
	drainLimit = 60 * time.Second
	// quietOneway is how long nobody may be at work before a run counts as over.
	quietOneway = 500 * time.Millisecond
	// quietBatch is well over the 1 s for which both services hold a batch back; a busy machine adds to it.
	quietBatch = 2500 * time.Millisecond
	// serverStirs and clientStirs are the CPU time in that while from which on somebody is at work. A server has its
	// own housekeeping; a subscriber that waits uses nothing.
	serverStirs = 25 * time.Millisecond
	clientStirs = time.Millisecond
	// pollEvery is how often that is looked at.
	pollEvery = 100 * time.Millisecond
)

// place says where a link leads, if there is one between publishers and subscribers.
type place string

const (
	noLink     place = ""
	linkInside place = "link inside" // to a topic of the same server
	linkSecond place = "link to 2nd" // to a topic of a second server of the same kind
)

// load is what clients do in one run.
type load struct {
	publishers, subscribers int
	link                    place
	mode                    string  // oneway, batch, ordered
	size                    int     // bytes of an event's body
	rate                    float64 // events per second of all publishers; 0: flat out
	seconds                 float64
}

// publisherMode is oneway except where events travel in batches: flat out then means what a connection takes, not
// how fast answers come back.
func (l load) publisherMode() string {
	if l.mode == "batch" {
		return "batch"
	}
	return "oneway"
}

func (l load) quiet() time.Duration {
	if l.mode == "batch" {
		return quietBatch
	}
	return quietOneway
}

func (l load) servers() int {
	if l.link == linkSecond {
		return 2
	}
	return 1
}

// run puts the load on new servers of a kind.
func (l load) run(ctx context.Context, b *bench, kind system) (s sample, err error) {
	f, err := b.launch(ctx, kind, l.servers())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	to, topic, err := l.prepare(ctx, f)
	if err != nil {
		return nil, err
	}
	subscribers, err := subscribe(ctx, to, topic, l.mode, l.subscribers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, subscribers.close()) }()
	return l.play(ctx, f, subscribers)
}

// prepare makes the topics, and the link where there is one; it returns where to subscribe.
func (l load) prepare(ctx context.Context, f *fleet) (*server, string, error) {
	first, last := f.servers[0], f.servers[len(f.servers)-1]
	if _, err := admin(ctx, first, "done", patience, "create", "from"); err != nil || l.link == noLink {
		return first, "from", err
	}
	if _, err := admin(ctx, last, "done", patience, "create", "to"); err != nil {
		return nil, "", err
	}
	proxy, err := topicProxy(ctx, last, "to")
	if err != nil {
		return nil, "", err
	}
	_, err = admin(ctx, first, "done", patience, "link", "from", proxy, "0")
	return last, "to", err
}

// play publishes, waits until nothing is under way any more, and takes the figures.
func (l load) play(ctx context.Context, f *fleet, subscribers audience) (sample, error) {
	before, err := f.cpu()
	if err != nil {
		return nil, err
	}
	out, err := publish(ctx, f.servers[0], "from", l)
	if err != nil {
		return nil, err
	}
	after, err := l.drain(ctx, f, subscribers)
	if err != nil {
		return nil, err
	}
	top, err := memoryOf(f.pids(), "VmHWM")
	if err != nil {
		return nil, err
	}
	got, err := subscribers.summaries(ctx)
	if err != nil {
		return nil, err
	}
	s := figures(out, got, after-before)
	s[peak] = top
	return s, nil
}

// drain waits until servers and subscribers have had nothing to do for a while: nobody can know how many events are
// still to come, as some may be lost. It returns what the servers had used when they fell quiet.
func (l load) drain(ctx context.Context, f *fleet, subscribers audience) (time.Duration, error) {
	limit := time.Now().Add(drainLimit)
	var server, client time.Duration
	var since time.Time
	for {
		s, errS := runTime(f.pids())
		c, errC := runTime(subscribers.pids())
		if err := errors.Join(errS, errC); err != nil {
			return 0, err
		}
		if s-server > serverStirs || c-client > clientStirs {
			server, client, since = s, c, time.Now()
		}
		if time.Since(since) >= l.quiet() {
			return f.cpu()
		}
		if time.Now().After(limit) {
			return 0, fmt.Errorf("events still arrive %v after the last was published", drainLimit)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// figures works out a run's figures: events due to each of the subscribers, who got these, at this cost. A run lasts
// from the first event to the last, and at least as long as the publishers published: else a server that lost all but
// the first events would seem the fastest.
func figures(out sent, got []received, cpu time.Duration) sample {
	var count, slowest float64
	span := out.seconds
	var middles []float64
	for _, r := range got {
		count += r.count - r.dup
		span = max(span, r.seconds)
		slowest = max(slowest, r.p99)
		middles = append(middles, r.p50)
	}
	due := out.events * float64(len(got))
	s := sample{loss: 0}
	if due > 0 {
		s[loss] = 100 * (due - count) / due
	}
	if count == 0 || span == 0 {
		return s
	}
	s[delivered] = count / span
	s[cpuEvent] = cpu.Seconds() * 1e6 / count
	s[cores] = cpu.Seconds() / span
	s[p50] = median(middles) / 1e3
	s[p99] = slowest / 1e3
	return s
}
