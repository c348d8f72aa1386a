package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"floe/scripts/suite/lab"
)

const clusterUsage = `usage: scripts/cluster up [N]             start N nodes (3), each in a network namespace of its own
       scripts/cluster exec NODE CMD...   run a command beside a node: scripts/cluster exec n1 floe status
       scripts/cluster list               the clusters there are
       scripts/cluster down               end the cluster, remove everything
FLOE_LAB=NUMBER names the cluster where there are several; otherwise it is the newest.`

// clusterCommand serves scripts/cluster. The first argument is the program.
func clusterCommand(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return usage(clusterUsage, "up, exec, list or down is missing")
	}
	binary, verb, rest := args[0], args[1], args[2:]
	switch {
	case verb == "up" && len(rest) <= 1:
		return clusterUp(binary, rest)
	case verb == "await" && len(rest) == 0: // clusterUp goes on here
		return clusterAwait(ctx)
	case verb == "exec" && len(rest) >= 2:
		return clusterExec(rest[0], rest[1:])
	case verb == "list" && len(rest) == 0:
		return clusterList()
	case verb == "down" && len(rest) == 0:
		return clusterDown()
	}
	return usage(clusterUsage, "can't %s", strings.Join(args[1:], " "))
}

// clusterUp makes a cluster and goes on inside its hub, where its nodes can be
// reached.
func clusterUp(binary string, args []string) error {
	count := 3
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > lab.Most {
			return usage(clusterUsage, "%q nodes: 1 to %d", args[0], lab.Most)
		}
		count = n
	}
	c := lab.Config{Nodes: count, Binary: binary, Stay: true, Disks: true, Clocks: true}
	l, err := lab.Create(c)
	if err != nil { // a container may have no loop devices, or no right to mount
		fmt.Printf("the nodes get no disks of their own, which scripts/fault power, diskfull and diskhang need: %v\n", err)
		c.Disks = false
		l, err = lab.Create(c)
	}
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err == nil {
		err = os.Setenv("FLOE_LAB", strconv.Itoa(l.Number))
	}
	if err == nil {
		err = l.Enter([]string{program, "cluster", binary, "await"})
	}
	return errors.Join(err, l.Remove()) // only where Enter failed
}

func clusterAwait(ctx context.Context) error {
	l, err := chosen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := startNodes(ctx, l.Nodes); err != nil {
		return errors.Join(fmt.Errorf("%w (the logs said:\n%s)", err, logEnds(l)), l.Remove())
	}
	printCluster(l)
	fmt.Print(`
Try:   scripts/cluster exec n1 floe status
       scripts/cluster exec n2 floe create A
       scripts/fault kill n1        see scripts/fault --help
End:   scripts/cluster down
`)
	return nil
}

// logEnds is the last lines of every node's log.
func logEnds(l *lab.Lab) string {
	var b strings.Builder
	for _, n := range l.Nodes {
		text, _ := os.ReadFile(n.Log()) // a node without one has said nothing
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range lines[max(0, len(lines)-5):] {
			fmt.Fprintf(&b, "%s: %s\n", n.Name, line)
		}
	}
	return b.String()
}

func printCluster(l *lab.Lab) {
	how := "one network namespace a node"
	if !l.Namespaces {
		how = "on loopback addresses, since root is missing: nothing can be cut"
	}
	fmt.Printf("cluster %d, %s, data and logs in %s\n", l.Number, how, l.Dir())
	for _, n := range l.Nodes {
		state := "runs"
		if !n.Running() {
			state = "is down"
		}
		fmt.Printf("  %s  %s  http %s  ice %s  peer %s\n", n.Name, state, n.HTTP(), n.Ice(), n.Peer())
	}
}

func clusterList() error {
	all, err := lab.List()
	for _, l := range all {
		printCluster(l)
	}
	if len(all) == 0 {
		fmt.Println("no cluster is up")
	}
	return err
}

func clusterExec(node string, command []string) error {
	l, err := chosen()
	if err != nil {
		return err
	}
	n, err := l.Node(node)
	if err != nil {
		return usage(clusterUsage, "%v", err)
	}
	return n.Exec(command)
}

func clusterDown() error {
	l, err := chosen()
	if err != nil {
		return err
	}
	if err := l.Remove(); err != nil {
		return err
	}
	fmt.Printf("cluster %d is gone\n", l.Number)
	return nil
}

// chosen is the cluster that FLOE_LAB names, or the newest that stays.
func chosen() (*lab.Lab, error) {
	text := os.Getenv("FLOE_LAB")
	if text == "" {
		return lab.Open(0)
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return nil, usage(clusterUsage, "FLOE_LAB=%s is no cluster's number", text)
	}
	return lab.Open(number)
}
