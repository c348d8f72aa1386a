package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Leave has the node leave its cluster, after which its process ends. Commands
// are those that operators type, run beside the clients.
func (n *Node) Leave(ctx context.Context) error {
	_, err := n.floe(ctx, "leave", "--addr", n.HTTP())
	return err
}

// Expel has the other nodes remove this one, whether it runs or not.
func (n *Node) Expel(ctx context.Context) error {
	_, err := n.floe(ctx, "remove", n.Name, "--force", "--addr", strings.Join(n.others((*Node).HTTP), ","))
	return err
}

// Replace ends the node, has it removed and empties its data directory, as when
// a machine is replaced by another. Where the cluster refuses or does not answer,
// the data stays.
func (n *Node) Replace(ctx context.Context) error {
	if err := errors.Join(n.Kill(), n.Expel(ctx)); err != nil {
		return err
	}
	return n.empty()
}

// Renew has the node removed while it runs, ends it and empties its data
// directory: the cluster never counts on a voter that is down.
func (n *Node) Renew(ctx context.Context) error {
	if err := n.Expel(ctx); err != nil {
		return err
	}
	if err := n.Kill(); err != nil {
		return err
	}
	return n.empty()
}

// empty makes a node that does not run one without data.
func (n *Node) empty() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(func() { n.Replaced, n.Damaged = true, false })
	return errors.Join(os.RemoveAll(n.Data()), n.lab.save())
}

// Return makes the node a member again that votes, whatever way it went, or
// says what it is where ctx ends before.
func (n *Node) Return(ctx context.Context) error {
	for {
		err := n.enter(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not back: %w", n.Name, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Refusal is that a node ended instead of serving, and what it wrote last.
type Refusal struct{ Node, Words string }

// Error implements error.
func (r *Refusal) Error() string { return r.Node + " ended: " + r.Words }

// lastWords is how many lines of a node that ended are passed on.
const lastWords = 30

// Comes starts the node and waits until it says how it is. A node that ends instead
// is a *[Refusal].
func (n *Node) Comes(ctx context.Context) error {
	if err := n.Start(); err != nil {
		return err
	}
	for {
		if !n.Running() {
			words, err := n.LastWords(lastWords)
			return errors.Join(err, &Refusal{n.Name, words})
		}
		if _, err := n.floe(ctx, "status", "--json", "--addr", n.HTTP()); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s runs and does not say how it is: %w", n.Name, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// enter takes the next step towards membership. It is nil where there is none
// left to take.
func (n *Node) enter(ctx context.Context) error {
	if err := n.Start(); err != nil {
		return err
	}
	out, err := n.floe(ctx, "status", "--json", "--addr", n.HTTP())
	if err != nil {
		return err
	}
	var status struct{ Role, Leader string }
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return fmt.Errorf("status of %s: %w", n.Name, err)
	}
	switch status.Role {
	case "leader", "follower", "candidate":
		return nil
	case "left", "removed":
		var errs []error
		for _, peer := range n.others((*Node).Peer) {
			_, err := n.floe(ctx, "join", peer, "--addr", n.HTTP())
			if err == nil {
				break
			}
			errs = append(errs, err)
		}
		return errors.Join(append(errs, errors.New("asked to join"))...)
	}
	return fmt.Errorf("its role is %q", status.Role)
}

// commandLimit is how long one command may take: floe's own limit is shorter.
const commandLimit = 8 * time.Second

func (n *Node) floe(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	return n.lab.Output(ctx, append([]string{n.lab.Binary}, args...)...)
}

// others returns an address of each other node.
func (n *Node) others(address func(*Node) string) []string {
	var all []string
	for _, o := range n.lab.Nodes {
		if o != n {
			all = append(all, address(o))
		}
	}
	return all
}
