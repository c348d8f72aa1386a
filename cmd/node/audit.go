package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"floe/cluster"
	"floe/fsm"
	"floe/transport/http/api"
)

// audited is the cluster for the faces: each change that somebody asked for
// leaves a line that says who, what, where in the log, and what came of it.
type audited struct {
	*cluster.Node
	log     hclog.Logger
	changes *prometheus.HistogramVec // by outcome
}

func (n *node) audited() audited { return audited{n.cluster, n.log.Named("audit"), n.changes} }

// newChanges makes the figures of changes, from 1 ms, which a fast disk takes,
// to 16 s, longer than anybody waits.
func newChanges() *prometheus.HistogramVec {
	changes := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "floe_change_seconds", Help: "How long changes asked of this node took until they were answered, by outcome: done, refused, unknown or failed.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
	}, []string{"outcome"})
	for _, outcome := range []string{"done", "refused", "unknown", "failed"} {
		changes.WithLabelValues(outcome) // there from the first scrape on, so that rates see the first one
	}
	return changes
}

// Propose makes a change. Parts of one leave no line before the last.
func (a audited) Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error) {
	begun := time.Now()
	result, err := a.Node.Propose(ctx, op, from)
	a.changes.WithLabelValues(outcome(err)).Observe(time.Since(begun).Seconds())
	switch op.(type) {
	case fsm.StageRoutes, fsm.StageRestore:
		return result, err
	}
	pairs := []any{"from", from, "what", describe(op), "index", result.Index, "outcome", outcome(err)}
	if err != nil {
		pairs = append(pairs, "reason", err)
	}
	a.log.Info("change", pairs...)
	return result, err
}

// outcome is one of done, refused, unknown and failed.
func outcome(err error) string {
	var unknown *cluster.Unknown
	var refused *fsm.Refusal
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &unknown):
		return "unknown"
	case errors.As(err, &refused):
		return "refused"
	}
	return "failed"
}

// describe says in a few words what a change is. It names no secrets.
func describe(op fsm.Op) string {
	switch o := op.(type) {
	case fsm.CreateTopic:
		return fmt.Sprintf("create topic %q", o.Name)
	case fsm.DestroyTopic:
		return fmt.Sprintf("destroy topic %q", o.Name)
	case fsm.Link:
		if o.Remote != nil {
			return fmt.Sprintf("link %q to %q of %q with cost %d", o.From, o.Remote.Identity.Name, o.Remote.Cluster, o.Cost)
		}
		return fmt.Sprintf("link %q to %q with cost %d", o.From, o.To, o.Cost)
	case fsm.Unlink:
		return fmt.Sprintf("unlink %q from %q", o.From, o.Target.Name)
	case fsm.Subscribe:
		return fmt.Sprintf("subscribe %q to %q", o.Subscription.Identity.Name, o.Topic)
	case fsm.Unsubscribe:
		return fmt.Sprintf("unsubscribe %q from %q", o.Identity.Name, o.Topic)
	case fsm.Batch:
		if len(o.Ops) > 0 {
			if back, ok := o.Ops[0].(fsm.Revert); ok {
				return fmt.Sprintf("bring graph and routes back to index %d", back.To)
			}
		}
		return api.Plural(len(o.Ops), "change") + " of the graph"
	case fsm.SetCluster:
		return fmt.Sprintf("add cluster %q", o.Cluster.Name)
	case fsm.DropCluster:
		return fmt.Sprintf("remove cluster %q", o.Name)
	case fsm.SetToken:
		if o.Token.Joins() {
			return fmt.Sprintf("make join token %q", o.Token.Name)
		}
		return fmt.Sprintf("make token %q of role %s", o.Token.Name, o.Token.Role)
	case fsm.DropToken:
		return fmt.Sprintf("remove token %q", o.Name)
	case fsm.ChangeRoutes, fsm.CommitRoutes:
		return "change routes and MEIDs"
	case fsm.ChangeFacts:
		return "change what managers said"
	case fsm.SetRelay:
		return "change the relaying of messages"
	case fsm.CommitRestore:
		return "restore a backup"
	}
	return fmt.Sprintf("change of kind %d", op.Kind())
}
