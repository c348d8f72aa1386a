package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"floe/scripts/rmrapp"
	"floe/transport/rmr/proto"
)

// trip has one application call another, through floe and straight in turn, so many times.
type trip struct{ size, calls int }

// warmCalls are made before it counts.
const warmCalls = 50

func (t trip) run(ctx context.Context, b *bench, _ system) (s sample, err error) {
	f, err := b.launchRMR(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	callee, err := rmrapp.Start(rmrapp.Config{Keep: 1, Handle: func(a *rmrapp.App, r *rmrapp.Received) {
		_ = a.Reply(ctx, r, mtype+1, r.Payload) // the caller says what it misses
	}})
	if err != nil {
		return nil, err
	}
	defer callee.Close()
	if err := f.servers[0].load(ctx, tableTo(callee.DataAddress())); err != nil {
		return nil, err
	}
	through, err := rmrapp.Start(rmrapp.Config{Seed: tableTo(f.servers[0].rmr)})
	if err != nil {
		return nil, err
	}
	defer through.Close()
	direct, err := rmrapp.Start(rmrapp.Config{Seed: tableTo(callee.DataAddress())})
	if err != nil {
		return nil, err
	}
	defer direct.Close()
	return t.take(ctx, through, direct)
}

func (t trip) take(ctx context.Context, through, direct *rmrapp.App) (sample, error) {
	m := proto.Message{Type: mtype, SubID: proto.NoSubID, Payload: make([]byte, t.size)}
	var took [2][]time.Duration
	for i := range warmCalls + t.calls {
		for side, a := range []*rmrapp.App{through, direct} {
			start := time.Now()
			if _, err := a.Call(ctx, m); err != nil {
				return nil, err
			}
			if i >= warmCalls {
				took[side] = append(took[side], time.Since(start))
			}
		}
	}
	s := sample{}
	s[p50], s[p99] = percentiles(took[0])
	s[directP50], s[directP99] = percentiles(took[1])
	return s, nil
}

// percentiles returns the middle and that which 1 of 100 exceeds, in µs.
func percentiles(took []time.Duration) (middle, high float64) {
	slices.Sort(took)
	n := len(took)
	return took[n/2].Seconds() * 1e6, took[n*99/100].Seconds() * 1e6
}
