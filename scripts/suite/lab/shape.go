package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
)

// Shape lets so much leave a node's interface, as tc(8) writes rates: 1mbit
// for one. What is faster waits in one queue of 400 ms and is dropped beyond.
// An empty rate takes the limit back.
func (n *Node) Shape(rate string) error {
	if !n.lab.Namespaces {
		return ErrNoNetwork
	}
	args := []string{"-n", n.lab.namespace(n.Name), "qdisc", "del", "dev", "eth0", "root"}
	if rate != "" {
		args = append(args[:2:2], "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "32kbit", "latency", "400ms")
	}
	return run("", "tc", args...)
}

// Dropped returns how many packets the queue of a shaped interface has dropped.
func (n *Node) Dropped() (int, error) {
	out, err := exec.Command("tc", "-n", n.lab.namespace(n.Name), "-s", "-j", "qdisc", "show", "dev", "eth0").Output()
	if err != nil {
		return 0, err
	}
	var queues []struct{ Drops int }
	if err := json.Unmarshal(out, &queues); err != nil || len(queues) != 1 {
		return 0, fmt.Errorf("%s has no queue of its own: %s", n.Name, out)
	}
	return queues[0].Drops, nil
}

// Congestion has new connections from and to a node use one of the kernel's
// congestion controls, reno for one.
func (n *Node) Congestion(control string) error {
	if !n.lab.Namespaces {
		return ErrNoNetwork
	}
	return n.lab.within(n.Name, func() error { // the setting that is seen is that of the thread's namespace
		return os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte(control), 0)
	})
}

// Dial connects from where the node is, as a client on its host would. The
// address is host:port, the host an IP address.
func (n *Node) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := n.lab.within(n.Name, func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}
