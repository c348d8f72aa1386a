package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"floe/scripts/suite/lab"
)

var floe = kind{
	name: "floe", publishing: lab.IcePort, leader: floeLeader,
	start:  func(_ *cluster, n *lab.Node) error { return n.Start() },
	kill:   func(_ *cluster, n *lab.Node) error { return n.Kill() },
	pause:  func(_ *cluster, n *lab.Node) error { return n.Pause() },
	resume: func(_ *cluster, n *lab.Node) error { return n.Resume() },
}

func floeLeader(ctx context.Context, c *cluster) (*lab.Node, error) { return c.until(ctx, askFloe) }

// until asks until there is a leader that all three nodes follow.
func (c *cluster) until(ctx context.Context, ask func(context.Context, *cluster) (string, error)) (*lab.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		name, err := ask(ctx, c)
		if err == nil {
			return c.Node(name)
		}
		if !wait(ctx, 100*time.Millisecond) {
			return nil, err
		}
	}
}

func askFloe(ctx context.Context, c *cluster) (string, error) {
	text, err := c.Output(ctx, c.Binary, "status", "--json", "--addr", c.Nodes[0].HTTP())
	if err != nil {
		return "", err
	}
	var status struct {
		Leader  string
		Members []struct{ Voter bool }
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return "", err
	}
	voters := 0
	for _, m := range status.Members {
		if m.Voter {
			voters++
		}
	}
	if voters < len(c.Nodes) || status.Leader == "" {
		return "", fmt.Errorf("%d of %d nodes vote, the leader is %q", voters, len(c.Nodes), status.Leader)
	}
	return status.Leader, nil
}

// Ports of IceStorm's replicas, beside that of the topic manager.
const (
	publishPort = lab.IcePort + 1
	replicaPort = lab.IcePort + 2
)

var iceStorm = kind{
	name: "IceStorm", publishing: publishPort, start: startStorm,
	kill:   func(c *cluster, n *lab.Node) error { return send(c.storms[n.Name], syscall.SIGKILL) },
	pause:  func(c *cluster, n *lab.Node) error { return send(c.storms[n.Name], syscall.SIGSTOP) },
	resume: func(c *cluster, n *lab.Node) error { return send(c.storms[n.Name], syscall.SIGCONT) },
	leader: stormLeader,
}

func stormLeader(ctx context.Context, c *cluster) (*lab.Node, error) { return c.until(ctx, askStorm) }

func askStorm(ctx context.Context, c *cluster) (string, error) {
	text, err := c.admin(ctx, c.Nodes[0], "replica")
	if err != nil {
		return "", err
	}
	n, err := coordinator(text, len(c.Nodes))
	if err != nil {
		return "", err
	}
	return c.Nodes[n].Name, nil
}

// coordinator reads what icestormadmin's `replica` says of each replica, such as "1: coord:      2" and
// "1: state:      normal", and returns the one that all of them name.
func coordinator(text string, replicas int) (int, error) {
	normal, named := 0, map[int]int{}
	for line := range strings.Lines(text) {
		var node, coord int
		var state string
		if n, _ := fmt.Sscanf(line, "%d: coord: %d", &node, &coord); n == 2 {
			named[coord]++
		}
		if n, _ := fmt.Sscanf(line, "%d: state: %s", &node, &state); n == 2 && state == "normal" {
			normal++
		}
	}
	for coord, followers := range named {
		if followers == replicas && normal == replicas && coord >= 0 && coord < replicas {
			return coord, nil
		}
	}
	return 0, fmt.Errorf("the replicas have not agreed:\n%s", text)
}

func startStorm(c *cluster, n *lab.Node) error {
	data := filepath.Join(c.Dir(), "storm-"+n.Name)
	config := data + ".config"
	if err := errors.Join(os.MkdirAll(data, 0o755), os.WriteFile(config, []byte(stormConfig(c, n, data)), 0o644)); err != nil {
		return err
	}
	log, err := os.OpenFile(n.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("icebox", "--Ice.Config="+config)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := n.Within(cmd.Start); err != nil {
		return err
	}
	c.storms[n.Name] = cmd
	return nil
}

// stormConfig is a replica's configuration: IceStorm's own defaults, but for where things are.
func stormConfig(c *cluster, n *lab.Node, data string) string {
	at := func(n *lab.Node, port int) string { return fmt.Sprintf("tcp -h %s -p %d", n.Host, port) }
	all := func(port int) string {
		var out []string
		for _, n := range c.Nodes {
			out = append(out, at(n, port))
		}
		return strings.Join(out, ":")
	}
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s=%s\n", name, value) }
	set("IceBox.Service.IceStorm", "IceStormService,37:createIceStorm --Ice.Config="+data+".config")
	set("IceBox.InheritProperties", "1")
	set("IceStorm.InstanceName", "IceStorm")
	set("IceStorm.TopicManager.Endpoints", at(n, lab.IcePort))
	set("IceStorm.Publish.Endpoints", at(n, publishPort))
	set("IceStorm.Node.Endpoints", at(n, replicaPort))
	set("IceStorm.LMDB.Path", data)
	set("IceStorm.NodeId", fmt.Sprint(n.Number-1))
	set("IceStorm.ReplicatedTopicManagerEndpoints", all(lab.IcePort))
	set("IceStorm.ReplicatedPublishEndpoints", all(publishPort))
	for _, other := range c.Nodes {
		set(fmt.Sprintf("IceStorm.Nodes.%d", other.Number-1), fmt.Sprintf("IceStorm/node%d:%s", other.Number-1, at(other, replicaPort)))
	}
	return b.String()
}
