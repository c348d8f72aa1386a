package lab

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// Reaches says whether a TCP connection from this node to another is answered
// within the limit: the probe that shows what a fault does.
func (n *Node) Reaches(other *Node, limit time.Duration) (bool, error) {
	listener, err := other.Listen()
	if err != nil {
		return false, err
	}
	defer listener.Close()
	var conn net.Conn
	var failed error
	err = n.lab.within(n.Name, func() error {
		conn, failed = net.DialTimeout("tcp", listener.Addr().String(), limit)
		return nil
	})
	if err != nil {
		return false, err
	}
	if failed != nil {
		return false, nil // the kernel of a namespace answers unless it was cut
	}
	return true, conn.Close()
}

// Probe returns, for each pair of nodes, whether the first reaches the second.
func (l *Lab) Probe(limit time.Duration) (map[string]bool, error) {
	out := map[string]bool{}
	for _, from := range l.Nodes {
		for _, to := range l.Nodes {
			if from == to {
				continue
			}
			ok, err := from.Reaches(to, limit)
			if err != nil {
				return nil, fmt.Errorf("%s to %s: %w", from.Name, to.Name, err)
			}
			out[from.Name+">"+to.Name] = ok
		}
	}
	return out, nil
}

// Output runs a command in the hub, where clients sit, and returns what it
// printed. An error holds what it said on stderr.
func (l *Lab) Output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	if err := l.within(hub, cmd.Start); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said.String())
	}
	return out.String(), nil
}
