package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// settled is how long a server is left alone before its memory is read.
const settled = 3 * time.Second

// idle is a server with so many topics that nobody uses.
type idle struct{ topics int }

func (i idle) run(ctx context.Context, b *bench, kind system) (s sample, err error) {
	f, err := b.launch(ctx, kind, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := i.fill(ctx, f.servers[0]); err != nil {
		return nil, err
	}
	return f.resident(ctx)
}

// fill makes the topics.
func (i idle) fill(ctx context.Context, s *server) error {
	if i.topics == 0 {
		return nil
	}
	_, err := creation{count: i.topics, inflight: 64}.on(ctx, s)
	return err
}

// resident reads the memory of servers that have been idle for a while, and what they used meanwhile.
func (f *fleet) resident(ctx context.Context) (sample, error) {
	before, err := f.cpu()
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(settled):
	}
	after, errC := f.cpu()
	mb, errM := memoryOf(f.pids(), "VmRSS")
	return sample{memory: mb, idleCPU: (after - before).Seconds() * 1e3 / settled.Seconds()}, errors.Join(errC, errM)
}

// startup is how long a server takes to serve, the median of several starts: each with an empty folder, or with so
// many topics there.
type startup struct{ topics, times int }

func (u startup) run(ctx context.Context, b *bench, kind system) (s sample, err error) {
	f, err := b.launch(ctx, kind, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := (idle{u.topics}).fill(ctx, f.servers[0]); err != nil {
		return nil, err
	}
	var starts []sample
	for i := range u.times {
		if err := f.servers[0].stop(); err != nil {
			return nil, err
		}
		again, err := kind.start(ctx, u.folder(f, i))
		if err != nil {
			return nil, err
		}
		f.servers[0] = again
		starts = append(starts, sample{answer: again.answered.Seconds() * 1e3, ready: again.ready.Seconds() * 1e3})
	}
	s, err = f.resident(ctx)
	if err == nil {
		s[answer], s[ready] = median(column(starts, answer)), median(column(starts, ready))
	}
	return s, err
}

// folder is that of the first server where its topics are to be found again, a new one otherwise.
func (u startup) folder(f *fleet, i int) string {
	if u.topics > 0 {
		return filepath.Join(f.dir, "0")
	}
	return filepath.Join(f.dir, "empty", string(rune('a'+i)))
}
