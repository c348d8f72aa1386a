package cluster

import (
	"context"
	"time"

	"floe/cluster/logstore"
)

// stopped says why this node's raft half may not run, nil where it may: its
// storage failed, or its state is not that of the others.
func (n *Node) stopped() error {
	if err := n.diskErr(); err != nil {
		return err
	}
	if d := n.diverged.Load(); d != nil {
		return d
	}
	return nil
}

func (n *Node) diskErr() error {
	n.mu.Lock()
	d := n.disk
	n.mu.Unlock()
	if d == nil {
		return nil
	}
	return d.health.Err()
}

// outOfService serves the last View once the raft half may not run any more.
// Where the disk was only full, or no file could be opened, the storage is
// opened anew when there is space, as at a start: read, checked, and trusted for nothing else.
func (n *Node) outOfService(ctx context.Context) error {
	why := n.stopped()
	if n.diskErr() != nil {
		n.setProblem("disk", why.Error())
		if n.cfg.ExitOnDiskError {
			return why
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-n.fatal:
			return err
		case <-time.After(time.Second):
		}
		if !logstore.IsFull(why) || n.space.roomNow() != nil {
			continue
		}
		if err := n.reopen(); !logstore.IsFull(err) {
			return err
		}
	}
}

// reopen opens the storage as a start does. The state stays: it has nothing
// that was not committed.
func (n *Node) reopen() error {
	n.log.Info("there is space: opening the storage anew", "dir", n.cfg.DataDir)
	if err := n.openedDisk().store.Close(); err != nil {
		return err
	}
	d, err := n.openDisk()
	if err != nil {
		return n.explain(err)
	}
	n.mu.Lock()
	n.disk = d
	n.mu.Unlock()
	if err := n.readIdentity(); err != nil {
		return err
	}
	n.setProblem("disk", "")
	return nil
}
