package lab

import (
	"errors"
	"fmt"
)

// places is how many peer addresses a node takes in turn once it moves: those of
// all nodes fit below the hub's.
const places = 11

// peerHost is the IP address of the peer listener: the node's own until it moves.
func (n *Node) peerHost() string {
	n.lab.saving.Lock()
	defer n.lab.saving.Unlock()
	if n.Moves == 0 {
		return n.Host
	}
	return n.lab.host(Most*(1+(n.Moves-1)%places) + n.Number)
}

// Most is how many nodes a lab may have.
const Most = 20

// Move ends nodes and gives each another address for its peer listener, the one by
// which the others know it. Nothing is at the old address afterwards. Where clients
// find it stays. Start brings them back.
func (l *Lab) Move(names ...string) error {
	var errs []error
	for _, name := range names {
		n, err := l.Node(name)
		if err == nil {
			err = n.move()
		}
		errs = append(errs, err)
	}
	errs = append(errs, l.applyCuts()) // by address
	if len(l.Lines) > 0 {
		errs = append(errs, l.applyLines())
	}
	return errors.Join(errs...)
}

func (n *Node) move() error {
	if err := n.Kill(); err != nil {
		return err
	}
	before := n.peerHost()
	n.note(func() { n.Moves++ })
	if err := n.lab.save(); err != nil || !n.lab.Namespaces { // every loopback address is there
		return err
	}
	ns := n.lab.namespace(n.Name)
	if before != n.Host {
		if err := ip("-n", ns, "addr", "del", before+"/24", "dev", "eth0"); err != nil {
			return fmt.Errorf("move %s: %w", n.Name, err)
		}
	}
	return ip("-n", ns, "addr", "add", n.peerHost()+"/24", "dev", "eth0")
}

// hosts are the node's IP addresses: it sends from either.
func (n *Node) hosts() []string {
	if peer := n.peerHost(); peer != n.Host {
		return []string{n.Host, peer}
	}
	return []string{n.Host}
}
