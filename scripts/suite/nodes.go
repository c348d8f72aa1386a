package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/lab"
	"floe/scripts/suite/schedule"
	"floe/scripts/suite/workload"
	"floe/transport/http/client"
)

func (r *run) listen(node string) (net.Listener, error) {
	n, err := r.lab.Node(node)
	if err != nil {
		return nil, err
	}
	return n.Listen()
}

// steps is the schedule as far as this machine can carry it out.
func (r *run) steps() []schedule.Step {
	return slices.DeleteFunc(r.options.schedule(), func(s schedule.Step) bool { return !r.possible(s) })
}

func (r *run) possible(s schedule.Step) bool {
	return (r.lab.Namespaces || !s.Kind.NeedsRoot()) && (r.lab.Clocks || s.Kind != schedule.Clock)
}

// lasting is the fault that stays, where there is one.
func (r *run) lasting() (schedule.Step, bool) {
	s, ok := r.options.lasting()
	return s, ok && r.possible(s)
}

// startNodes starts every node and waits until all are voters of one cluster
// and serve.
func startNodes(ctx context.Context, all []*lab.Node) error {
	var nodes []workload.Node
	for _, n := range all {
		if err := n.Start(); err != nil {
			return err
		}
		nodes = append(nodes, workload.Node{Name: n.Name, HTTP: n.HTTP()})
	}
	if err := awaitReady(ctx, nodes); err != nil {
		return err
	}
	return poll(ctx, "all nodes to be voters", func() error { return allVote(ctx, nodes) })
}

// awaitReady waits until each node says that it is ready.
func awaitReady(ctx context.Context, nodes []workload.Node) error {
	return poll(ctx, "all nodes to be ready", func() error {
		for _, n := range nodes {
			if err := ready(ctx, n); err != nil {
				return fmt.Errorf("%s: %w", n.Name, err)
			}
		}
		return nil
	})
}

// poll asks again and again until f is content; where ctx ends first, the
// error is f's last.
func poll(ctx context.Context, what string, f func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s: %w", what, err)
		case <-tick.C:
		}
	}
}

func ready(ctx context.Context, n workload.Node) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTP+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096)) // the status says it all
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

func allVote(ctx context.Context, nodes []workload.Node) error {
	c := client.New(client.Config{Addresses: []string{nodes[0].HTTP}})
	defer c.Close()
	members, err := c.Members(ctx)
	if err != nil {
		return err
	}
	voters := 0
	for _, m := range members {
		if m.Voter {
			voters++
		}
	}
	if voters != len(nodes) {
		return fmt.Errorf("%d of %d nodes vote", voters, len(nodes))
	}
	return nil
}
