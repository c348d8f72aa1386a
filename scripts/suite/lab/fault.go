package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoNetwork says that without root there are no faults of the network.
var ErrNoNetwork = errors.New("cuts need root: without it nodes can only be killed and paused")

// Partition lets no packet pass between the nodes named and all others; with
// apart, none between the nodes named either. The name is for Heal.
func (l *Lab) Partition(name string, victims []string, apart bool) error {
	var cuts []Cut
	for _, from := range l.Names() {
		for _, to := range l.Names() {
			in, out := slices.Contains(victims, from), slices.Contains(victims, to)
			if from != to && (in != out || apart && in && out) {
				cuts = append(cuts, Cut{from, to})
			}
		}
	}
	return l.cut(name, cuts)
}

// Oneway drops all packets from each of the first to each of the second.
func (l *Lab) Oneway(name string, from, to []string) error {
	var cuts []Cut
	for _, f := range from {
		for _, t := range to {
			if f != t {
				cuts = append(cuts, Cut{f, t})
			}
		}
	}
	return l.cut(name, cuts)
}

// Bridge cuts the nodes but one into two halves that reach that one and not
// each other: who reaches whom is no longer the same for all.
func (l *Lab) Bridge(name, over string) error {
	others := l.Others([]string{over})
	half := others[:(len(others)+1)/2]
	var cuts []Cut
	for _, a := range half {
		for _, b := range others[len(half):] {
			cuts = append(cuts, Cut{a, b}, Cut{b, a})
		}
	}
	return l.cut(name, cuts)
}

// Others returns the nodes that are not named.
func (l *Lab) Others(names []string) []string {
	return slices.DeleteFunc(l.Names(), func(n string) bool { return slices.Contains(names, n) })
}

// Heal takes back the cuts and bad lines of that name; of all names where it is
// empty.
func (l *Lab) Heal(name string) error {
	bad, cut := len(l.Lines), len(l.Cuts)
	if name == "" {
		clear(l.Cuts)
		clear(l.Lines)
	} else {
		delete(l.Cuts, name)
		delete(l.Lines, name)
	}
	var err error
	if len(l.Cuts) != cut {
		err = l.applyCuts()
	}
	if len(l.Lines) != bad {
		err = errors.Join(err, l.applyLines())
	}
	return err
}

func (l *Lab) cut(name string, cuts []Cut) error {
	if !l.Namespaces {
		return ErrNoNetwork
	}
	if l.Cuts == nil {
		l.Cuts = map[string][]Cut{}
	}
	l.Cuts[name] = cuts
	return l.applyCuts()
}

// applyCuts writes the rules of every node anew: each drops what it must not
// hear as it comes in, so that the sender notices nothing, as on a real wire.
func (l *Lab) applyCuts() error {
	errs := []error{l.save()}
	if !l.Namespaces {
		return errors.Join(errs...)
	}
	for _, n := range l.Nodes {
		rules := l.rules(n)
		errs = append(errs, l.within(n.Name, func() error { return run(rules, "nft", "-f", "-") }))
	}
	return errors.Join(errs...)
}

// rules are the node's nft commands, which nft carries out as one step.
func (l *Lab) rules(n *Node) string {
	var b strings.Builder
	b.WriteString("add table inet floe\n")
	b.WriteString("add chain inet floe in { type filter hook input priority 0; }\n")
	b.WriteString("flush chain inet floe in\n")
	for _, host := range l.unheard(n.Name) {
		fmt.Fprintf(&b, "add rule inet floe in ip saddr %s counter drop\n", host)
	}
	return b.String()
}

// unheard returns the addresses whose packets the node must not get.
func (l *Lab) unheard(name string) []string {
	var hosts []string
	for _, cuts := range l.Cuts {
		for _, c := range cuts {
			if from, err := l.Node(c.From); err == nil && c.To == name {
				hosts = append(hosts, from.hosts()...)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Interface takes the network interface of a node down, or up again.
func (n *Node) Interface(up bool) error {
	if !n.lab.Namespaces {
		return ErrNoNetwork
	}
	state := map[bool]string{true: "up", false: "down"}[up]
	return ip("-n", n.lab.namespace(n.Name), "link", "set", "eth0", state)
}
