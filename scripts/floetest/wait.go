package floetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"floe/transport/http/api"
	"floe/transport/http/client"
)

// poll is the pause between two looks at a node.
const poll = 10 * time.Millisecond

// Eventually looks until ok returns nil, and fails the test with ok's last error after the limit.
func Eventually(t testing.TB, limit time.Duration, ok func() error) {
	t.Helper()
	if err := wait(limit, ok); err != nil {
		t.Fatalf("after %v: %v", limit, err)
	}
}

func wait(limit time.Duration, ok func() error) error {
	late := time.After(limit)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return err
		}
	}
}

// Status asks the node how it is.
func (n *Node) Status() (api.Status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	c := client.New(client.Config{Addresses: []string{n.HTTP()}, Timeout: 3 * time.Second})
	defer c.Close()
	return c.Status(ctx)
}

// WaitStatus waits until the node's status pleases, and returns it.
func (n *Node) WaitStatus(what string, ok func(api.Status) bool) api.Status {
	n.t.Helper()
	var last api.Status
	n.eventually(what, func() error {
		s, err := n.Status()
		if err != nil {
			return err
		}
		if last = s; !ok(s) {
			return fmt.Errorf("status is %+v", s)
		}
		return nil
	})
	return last
}

// eventually is [Eventually] that ends early where the process does.
func (n *Node) eventually(what string, ok func() error) {
	n.t.Helper()
	err := wait(Patience, func() error {
		if !n.Running() {
			return nil
		}
		return ok()
	})
	if err != nil {
		n.t.Fatalf("node %s: not %s within %v: %v", n.ID, what, Patience, err)
	}
	if !n.Running() {
		n.t.Fatalf("node %s ended before it was %s:\n%s", n.ID, what, n.Tail())
	}
}

// WaitAnswering waits until the node answers over HTTP, in a cluster or not.
func (n *Node) WaitAnswering() api.Status {
	n.t.Helper()
	return n.WaitStatus("answering", func(api.Status) bool { return true })
}

// WaitReady waits until the node has caught up with a leader.
func (n *Node) WaitReady() {
	n.t.Helper()
	n.eventually("ready", func() error {
		code, body := Get(n.HTTP(), "/readyz")
		if code != 200 {
			return fmt.Errorf("/readyz: %d %s", code, body)
		}
		return nil
	})
}

// Roles maps the ids of the members a node sees to their roles.
func Roles(s api.Status) map[string]string {
	out := map[string]string{}
	for _, m := range s.Members {
		out[m.ID] = m.Role
	}
	return out
}

// Voters counts the members of a status that have a vote.
func Voters(s api.Status) int {
	n := 0
	for _, m := range s.Members {
		if m.Voter {
			n++
		}
	}
	return n
}
