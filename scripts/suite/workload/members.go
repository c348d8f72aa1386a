package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"time"

	"floe/scripts/suite/history"
	"floe/transport/http/client"
)

// Spare is a node that comes and goes beside those that stay.
type Spare struct {
	Name string
	// Join has it become a voter; the others have it go: by itself, removed by
	// the others, or removed, ended and emptied.
	Join, Leave, Remove, Renew func(context.Context) error
}

// Members is the workload that has a further node join, leave, be removed and
// be replaced, over and over.
type Members struct {
	Log   *history.Log
	Nodes []Node
	Spare Spare
	Seed  uint64
}

const (
	// joinLimit is how long a join may take, goLimit how long it may take to go.
	joinLimit = 10 * time.Second
	goLimit   = 8 * time.Second
	// stay is how long the node is a member, or not, at least.
	stay = 1500 * time.Millisecond
)

// Run works until ctx ends and the change under way is over.
func (m *Members) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, n := range m.Nodes {
		c, count := newClient(n), 0
		all.Go(func() {
			pace(ctx, witnessPace, func() {
				count++
				m.witness(c, n, fmt.Sprintf("witness-%s-%d", n.Name, count))
			})
			c.Close()
		})
	}
	random := stream(m.Seed, 7000)
	pace(ctx, stay, func() {
		if m.join(ctx) {
			rest(ctx, stay)
			m.leave(ctx, random)
		}
	})
}

// witnessPace is how often each node has to make a change, so that a gap shows.
const witnessPace = 400 * time.Millisecond

func (m *Members) witness(c *client.Client, n Node, name string) {
	p := m.Log.Invoke("witness-"+n.Name, n.Name, "create", name, nil)
	t, err := c.Create(always, name)
	end(p, "create", &history.Value{ID: t.ID}, err)
}

func (m *Members) join(ctx context.Context) bool {
	return m.do(ctx, "join", joinLimit, m.Spare.Join)
}

func (m *Members) leave(ctx context.Context, r *rand.Rand) {
	if ctx.Err() != nil {
		return
	}
	ways := []struct {
		name string
		f    func(context.Context) error
	}{{"leave", m.Spare.Leave}, {"remove", m.Spare.Remove}, {"renew", m.Spare.Renew}}
	way := ways[r.IntN(len(ways))]
	m.do(ctx, way.name, goLimit, way.f)
}

// do makes one change and records how it ended. Only what floe refuses, by its
// exit code, has no effect for certain.
func (m *Members) do(ctx context.Context, function string, limit time.Duration, f func(context.Context) error) bool {
	if ctx.Err() != nil {
		return false
	}
	within, cancel := context.WithTimeout(always, limit)
	defer cancel()
	p := m.Log.Invoke("members", m.Spare.Name, function, m.Spare.Name, nil)
	err := f(within)
	var exit *exec.ExitError
	switch {
	case err == nil:
		p.OK(nil)
		return true
	case function != "join" && errors.As(err, &exit) && exit.ExitCode() == exitRefused:
		p.Fail(err.Error())
	default:
		p.Info(err.Error())
	}
	return false
}

// exitRefused is floe's exit code for what the cluster refused to do.
const exitRefused = 1

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
