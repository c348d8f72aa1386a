package wire

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// path is a link of so many bytes a second and a round trip time without
// queues.
type path struct {
	rate int
	rtt  time.Duration
}

// drive has a writer that always has more use a path for a while, and returns
// the bytes that came through and the longest queue of the last half, in time.
func (p path) drive(w *window, begin time.Time, d time.Duration) (through int64, queue time.Duration) {
	const step = 100 * time.Microsecond
	type sent struct {
		total int64
		acked time.Time
	}
	var flying []sent
	acked, free := w.total, begin
	for now := begin; now.Before(begin.Add(d)); now = now.Add(step) {
		for len(flying) > 0 && !flying[0].acked.After(now) {
			acked, flying = flying[0].total, flying[1:]
		}
		for {
			n := min(w.room(int(w.total-acked), now, func() time.Duration { return p.rtt }), 8<<10)
			if n == 0 || w.total-acked >= windowMax {
				break
			}
			w.sent(n, now)
			if free.Before(now) {
				free = now
			}
			free = free.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
			flying = append(flying, sent{w.total, free.Add(p.rtt)})
		}
		if now.Sub(begin) > d/2 {
			queue = max(queue, free.Sub(now))
		}
	}
	return acked, queue
}

// The queue stays short whatever the path, and the path is used.
func TestWindow(t *testing.T) {
	for name, p := range map[string]path{
		"1 Mbit/s":                 {125_000, time.Millisecond},
		"10 Mbit/s":                {1_250_000, time.Millisecond},
		"100 Mbit/s":               {12_500_000, time.Millisecond},
		"1 Gbit/s":                 {125_000_000, 100 * time.Microsecond},
		"10 Mbit/s across the sea": {1_250_000, 150 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			const d = 20 * time.Second
			through, queue := p.drive(&window{}, time.Unix(0, 0), d)
			if want := 2*queueing + p.rtt/4; queue > want { // it grows by a quarter within a round trip
				t.Errorf("%v wait in the queue, want %v at most", queue, want)
			}
			if got, want := int(through), p.rate*int(d/time.Second)*8/10; got < want {
				t.Errorf("%d bytes came through, want %d", got, want)
			}
		})
	}
}

// A window that was large is small again soon after the path got slow, and
// large soon after it got fast.
func TestWindowFollowsThePath(t *testing.T) {
	fast, slow := path{125_000_000, time.Millisecond}, path{125_000, time.Millisecond}
	w, now := &window{}, time.Unix(0, 0)
	for _, step := range []struct {
		path path
		size int
	}{{fast, 128 << 10}, {slow, windowMin}, {fast, 128 << 10}} {
		w.total, w.probe = 0, 0
		step.path.drive(w, now, 2*time.Second)
		now = now.Add(2 * time.Second)
		if small := step.size == windowMin; small && w.size > step.size || !small && w.size < step.size {
			t.Errorf("window of %d bytes at %d bytes a second, want about %d", w.size, step.path.rate, step.size)
		}
	}
}

// A frame far over the window gets through whole.
func TestStreamWindow(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	got := make(chan []byte, 1)
	server.ServeStreams(func(_ context.Context, s *Stream) {
		b, _ := s.ReadFrame()
		got <- bytes.Clone(b)
		_, _ = s.ReadFrame()
	})
	s := openStream(t, caller.Client(), server)
	want := bytes.Repeat([]byte("floe"), 1<<20)
	if err := s.WriteFrame(want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(<-got, want) {
		t.Error("the frame came changed")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
