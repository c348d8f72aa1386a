package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"floe/routing"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
)

const (
	// appRoutes is the table that the applications of a fleet have.
	appRoutes = 100
	// changes is how often it is changed in a run.
	changes = 5
)

// change has so many applications follow changes of one route.
type change struct{ nodes, apps int }

func (c change) run(ctx context.Context, b *bench, _ system) (s sample, err error) {
	f, err := b.launchRMR(ctx, c.nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	text, last := routeText(appRoutes)
	if err := f.servers[0].load(ctx, text); err != nil {
		return nil, err
	}
	apps, err := rmrapp.StartFleet(c.apps, func(i int) rmrapp.Config {
		return rmrapp.Config{RouteManager: f.servers[i%len(f.servers)].rtg, Keep: 4}
	})
	if err != nil {
		return nil, err
	}
	defer apps.Close()
	if err := c.served(ctx, f, apps); err != nil {
		return nil, err
	}
	return c.follow(ctx, f, apps, last)
}

// served waits until all applications have a table, and the cluster knows of all that they acknowledged it.
func (c change) served(ctx context.Context, f *fleet, apps rmrapp.Fleet) error {
	return within(ctx, ackLimit, func(ctx context.Context) error {
		if err := apps.Wait(ctx, "ready", (*rmrapp.App).Ready); err != nil {
			return err
		}
		client := f.servers[0].api()
		defer client.Close()
		for {
			known, err := client.Apps(ctx)
			if err != nil {
				return err
			}
			waits := slices.ContainsFunc(known, func(a api.App) bool { return a.VersionAcked != a.VersionSent })
			if len(known) == c.apps && !waits {
				return nil
			}
			if err := sleep(ctx, 50*time.Millisecond); err != nil {
				return fmt.Errorf("%d applications of %d are known: %w", len(known), c.apps, err)
			}
		}
	})
}

// follow changes the route and waits for all, again and again.
func (c change) follow(ctx context.Context, f *fleet, apps rmrapp.Fleet, route api.RouteQuery) (sample, error) {
	var took []float64
	for i := range changes {
		to := fmt.Sprintf("changed%d.ricxapp:4560", i)
		start := time.Now()
		err := f.servers[0].load(ctx, fmt.Sprintf("updatert|start|bench\nmse|%d|%d|%s\nupdatert|end|1\n", route.MType, route.SubID, to))
		if err != nil {
			return nil, err
		}
		at, err := lastAt(ctx, apps, route, to)
		if err != nil {
			return nil, err
		}
		took = append(took, milliseconds(at.Sub(start)))
	}
	return sample{lastAck: median(took), worstAck: slices.Max(took)}, apps.Faults()
}

// lastAt waits until every application sends to the endpoint, and returns when the last of them said that it does.
func lastAt(ctx context.Context, apps rmrapp.Fleet, route api.RouteQuery, to string) (time.Time, error) {
	var last time.Time
	err := within(ctx, ackLimit, func(ctx context.Context) error {
		return apps.Wait(ctx, "told of a change", func(a *rmrapp.App) bool {
			groups := a.Lookup(route.MType, routing.AnySubID, "")
			return len(groups) == 1 && groups[0][0] == to
		})
	})
	for _, a := range apps {
		if e, ok := a.Last(); ok && e.At.After(last) {
			last = e.At
		}
	}
	return last, err
}
