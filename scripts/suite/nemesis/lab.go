package nemesis

import (
	"context"
	"fmt"
	"time"

	"floe/scripts/suite/lab"
	"floe/scripts/suite/schedule"
)

// Lab is what a nemesis does to nodes; see [Of]. What undoes a fault does
// nothing where there is none.
type Lab interface {
	Names() []string
	Kill(node string) error
	Start(node string) error
	Pause(node string) error
	Resume(node string) error
	PowerCut(node string) error
	Fill(node string, leave int64) error
	Empty(node string) error
	Freeze(node string) error
	Thaw(node string) error
	Afflict(node string, t lab.Trouble) error
	Relieve(node string) error
	// Damage changes a bit of a file of a node that is down. Comes starts a node
	// and waits until it serves; a [Refusal] is that it ended instead.
	Damage(node, file string, place int) (what string, err error)
	Comes(ctx context.Context, node string) error
	// Move ends nodes and gives each another peer address.
	Move(nodes ...string) error
	SetClock(node string, offset time.Duration) error
	Partition(name string, victims []string, apart bool) error
	Oneway(name string, from, to []string) error
	Bridge(name, over string) error
	Spoil(name string, from, to []string, q lab.Quality) error
	Heal(name string) error
	// Go has a member go, Return has it come back.
	Go(ctx context.Context, node string, exit schedule.Exit) error
	Return(ctx context.Context, node string) error
}

// Of makes the first nodes of a lab, so many of them, a [Lab].
func Of(l *lab.Lab, count int) Lab { return nodes{l, count} }

type nodes struct {
	*lab.Lab
	count int
}

// Names are those of the nodes that faults strike.
func (l nodes) Names() []string { return l.Lab.Names()[:l.count] }

func (l nodes) on(name string, f func(*lab.Node) error) error {
	n, err := l.Node(name)
	if err != nil {
		return err
	}
	return f(n)
}

func (l nodes) Kill(node string) error     { return l.on(node, (*lab.Node).Kill) }
func (l nodes) Start(node string) error    { return l.on(node, (*lab.Node).Start) }
func (l nodes) Pause(node string) error    { return l.on(node, (*lab.Node).Pause) }
func (l nodes) Resume(node string) error   { return l.on(node, (*lab.Node).Resume) }
func (l nodes) PowerCut(node string) error { return l.on(node, (*lab.Node).PowerCut) }
func (l nodes) Empty(node string) error    { return l.on(node, (*lab.Node).Empty) }
func (l nodes) Freeze(node string) error   { return l.on(node, (*lab.Node).Freeze) }
func (l nodes) Thaw(node string) error     { return l.on(node, (*lab.Node).Thaw) }

func (l nodes) Relieve(node string) error { return l.on(node, (*lab.Node).Relieve) }

func (l nodes) Afflict(node string, t lab.Trouble) error {
	return l.on(node, func(n *lab.Node) error { return n.Afflict(t) })
}

func (l nodes) Damage(node, file string, place int) (what string, err error) {
	err = l.on(node, func(n *lab.Node) error {
		path, at, err := n.Damage(file, place)
		what = fmt.Sprintf("byte %d of %s", at, path)
		return err
	})
	return what, err
}

func (l nodes) Comes(ctx context.Context, node string) error {
	return l.on(node, func(n *lab.Node) error { return n.Comes(ctx) })
}

func (l nodes) Fill(node string, leave int64) error {
	return l.on(node, func(n *lab.Node) error { return n.Fill(leave) })
}

func (l nodes) SetClock(node string, offset time.Duration) error {
	if !l.Clocks && offset == 0 {
		return nil
	}
	return l.on(node, func(n *lab.Node) error { return n.SetClock(offset) })
}

func (l nodes) Go(ctx context.Context, node string, exit schedule.Exit) error {
	return l.on(node, func(n *lab.Node) error {
		switch exit {
		case schedule.Leave:
			return n.Leave(ctx)
		case schedule.Remove:
			return n.Expel(ctx)
		case schedule.Replace:
			return n.Replace(ctx)
		}
		return fmt.Errorf("no way to go %q", exit)
	})
}

func (l nodes) Return(ctx context.Context, node string) error {
	return l.on(node, func(n *lab.Node) error { return n.Return(ctx) })
}
