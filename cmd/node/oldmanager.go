package main

import (
	"context"
	"errors"
	"time"

	"floe/fsm"
	"floe/routing/derive"
	"floe/transport/http"
	"floe/transport/nbi"
)

// readOldManager is nbi.Read as the HTTP face wants it.
func readOldManager(now *derive.Facts, texts []string) (http.OldManager, error) {
	found, err := nbi.Read(now, texts)
	return http.OldManager{Changes: found.Changes, Facts: found.Facts, Notes: found.Notes}, err
}

// runSources configures the derivation of routes, once, and asks the managers
// of the RIC.
func (n *node) runSources(ctx context.Context) error {
	if n.options.text("nbi-config") != "" {
		n.configureDerivation(ctx)
	}
	return n.sources.Run(ctx)
}

// configureDerivation makes what --nbi-config says the cluster's, where it
// has no configuration yet. Every node may have the file: the first counts.
func (n *node) configureDerivation(ctx context.Context) {
	op := fsm.ChangeFacts{Changes: []derive.Change{{Kind: derive.SetConfig, Config: &n.oldManager}}}
	for ctx.Err() == nil {
		changed := n.cluster.Changed()
		if v, err := n.readWithin(ctx); err == nil {
			if !v.Routes.Facts.Config().Empty() {
				n.log.Info("--nbi-config is not needed: the cluster has a configuration; floe import rtmgr FILE changes it")
				return
			}
			_, err = n.cluster.Propose(ctx, op, "nbi-config")
			var refused *fsm.Refusal
			switch {
			case err == nil:
				n.log.Info("routes are derived by what --nbi-config says", "file", n.options.text("nbi-config"))
				return
			case errors.As(err, &refused) && refused.Kind != fsm.ErrVersion:
				n.log.Warn("--nbi-config was refused", "error", err)
				return
			}
		}
		select {
		case <-changed:
		case <-time.After(seedPause):
		case <-ctx.Done():
		}
	}
}

func (n *node) readWithin(ctx context.Context) (*fsm.View, error) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	return n.cluster.Read(ctx)
}
