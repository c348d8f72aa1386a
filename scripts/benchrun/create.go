package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// createLimit is how long a row may take to make its topics.
const createLimit = 120 * time.Second

// creation makes topics, so many at a time.
type creation struct{ count, inflight int }

func (c creation) run(ctx context.Context, b *bench, kind system) (s sample, err error) {
	f, err := b.launch(ctx, kind, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	rate, err := c.on(ctx, f.servers[0])
	return sample{creates: rate}, err
}

// on makes the topics on a server and returns how many it acknowledged per second.
func (c creation) on(ctx context.Context, s *server) (float64, error) {
	line, err := admin(ctx, s, "created", createLimit, "create-many", "--count", fmt.Sprint(c.count),
		"--inflight", fmt.Sprint(c.inflight))
	return fields(line)["per_second"], err
}
