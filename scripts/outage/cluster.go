package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"floe/scripts/suite/lab"
)

// kind is one of the two services.
type kind struct {
	name string
	// start starts a node, kill, pause and resume are signals to it.
	start, kill, pause, resume func(*cluster, *lab.Node) error
	// leader names the node that decides.
	leader func(context.Context, *cluster) (*lab.Node, error)
	// publishing is the port that events go to.
	publishing int
}

// cluster is three nodes of one kind.
type cluster struct {
	*lab.Lab
	kind
	storms map[string]*exec.Cmd // IceStorm's processes
}

// patience is how long a service that is well may take for anything.
const patience = 60 * time.Second

// startCluster returns once each node takes changes and there is a leader.
func startCluster(ctx context.Context, o options, k kind) (*cluster, error) {
	l, err := lab.Create(lab.Config{Nodes: 3, Binary: o.floe})
	if err != nil {
		return nil, err
	}
	c := &cluster{Lab: l, kind: k, storms: map[string]*exec.Cmd{}}
	for _, n := range l.Nodes {
		if err := k.start(c, n); err != nil {
			return nil, errors.Join(err, c.end())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, n := range l.Nodes {
		if err := c.untilWritten(ctx, n, "first-"+n.Name); err != nil {
			return nil, errors.Join(err, c.end())
		}
	}
	return c, nil
}

func (c *cluster) end() error {
	errs := []error{}
	for _, n := range c.Nodes {
		errs = append(errs, c.resume(n), c.kind.kill(c, n))
	}
	return errors.Join(append(errs, c.Remove())...)
}

func (c *cluster) kill(n *lab.Node) error   { return c.kind.kill(c, n) }
func (c *cluster) pause(n *lab.Node) error  { return c.kind.pause(c, n) }
func (c *cluster) resume(n *lab.Node) error { return c.kind.resume(c, n) }
func (c *cluster) cut(n *lab.Node) error    { return c.Partition("outage", []string{n.Name}, false) }

// restartOthers ends all nodes and starts all but one again.
func (c *cluster) restartOthers(lost *lab.Node) error {
	for _, n := range c.Nodes {
		if err := c.kill(n); err != nil {
			return err
		}
	}
	var errs []error
	for _, n := range c.others(lost) {
		errs = append(errs, c.kind.start(c, n))
	}
	return errors.Join(errs...)
}

func (c *cluster) others(victim *lab.Node) []*lab.Node {
	var out []*lab.Node
	for _, n := range c.Nodes {
		if n != victim {
			out = append(out, n)
		}
	}
	return out
}

// admin runs an icestormadmin beside the node, which asks that node alone, and
// returns what it says. It has no limit of its own and waits until ctx ends.
func (c *cluster) admin(ctx context.Context, n *lab.Node, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "icestormadmin",
		fmt.Sprintf("--IceStormAdmin.TopicManager.Default=IceStorm/TopicManager:tcp -h %s -p %d", n.Host, lab.IcePort), "-e", command)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	if err := n.Within(cmd.Start); err != nil {
		return "", err
	}
	err := cmd.Wait()
	return strings.TrimSpace(said.String()), err
}

// write creates a topic.
func (c *cluster) write(ctx context.Context, n *lab.Node, topic string) error {
	text, err := c.admin(ctx, n, "create "+topic)
	if err == nil && text != "" { // it exits with 0 whatever happens
		err = errors.New(text)
	}
	return err
}

// untilWritten creates topics with names of that beginning until one is made.
// The first try may be carried out and not be answered, so each has its own.
func (c *cluster) untilWritten(ctx context.Context, n *lab.Node, name string) error {
	var last error
	for try := 0; ctx.Err() == nil; try++ {
		if last = c.write(ctx, n, fmt.Sprintf("%s-%d", name, try)); last == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("%s takes no changes: %w", n.Name, errors.Join(last, ctx.Err()))
}

// send sends a signal to a process and waits for its end where that is what it is for.
func send(cmd *exec.Cmd, s syscall.Signal) error {
	if cmd == nil || cmd.ProcessState != nil {
		return nil
	}
	if err := cmd.Process.Signal(s); err != nil {
		return err
	}
	if s == syscall.SIGKILL {
		_ = cmd.Wait() // it was killed
	}
	return nil
}
