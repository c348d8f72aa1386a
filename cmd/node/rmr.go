package main

import (
	"context"
	"fmt"
	"os"

	"floe/cluster"
	"floe/cluster/logstore"
	"floe/transport/http/api"
	"floe/transport/nbi"
	"floe/transport/rmr/manager"
	"floe/transport/rmr/probe"
	"floe/transport/rmr/relay"
)

// makeRMR makes all that speaks with RMR applications: what routes their
// messages, what gives them their tables, and what looks after endpoints.
func (n *node) makeRMR() error {
	n.relay = relay.New(relay.Config{
		Group: n.cluster, Publish: n.bridge.arrive, Source: firstOrNone(n.sockets.published["rmr"]), Access: n.options.messages, Log: n.log.Named("rmr"),
	})
	n.bridge.send = n.relay.Send
	timing, err := cluster.ParseTiming(n.options.text("timing"))
	if err != nil {
		return err
	}
	n.manager = manager.New(manager.Config{
		Group: n.cluster, Member: n.isMember, Lease: timing.Election * 2, Chunk: n.chunk(), Expire: n.options.duration("app-expire"), Log: n.log.Named("rtg"),
	})
	n.prober = probe.New(probe.Config{Group: n.cluster, Looks: n.options.text("probe") == "true", Log: n.log.Named("probe")})
	n.cluster.Handle(probe.Method, n.prober.Handle)
	return nil
}

// isMember tells whether this node belongs to a cluster; it may have left one,
// or been removed.
func (n *node) isMember() bool { return n.cluster.Identity().State == logstore.Member }

// chunk is the size of a part of a table, 0 where only the largest are cut.
func (n *node) chunk() int {
	if size := n.options.size("rtg-chunk"); size < 16<<20 {
		return size
	}
	return 0
}

func firstOrNone(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// makeNBI makes the face of the old route manager, and what asks its sources.
func (n *node) makeNBI() error {
	file, err := oldManagerFile(n.options.text("nbi-config"))
	if err != nil {
		return err
	}
	n.oldManager = file.Config
	urls := file.URLs
	if at := n.sockets.published["nbi"]; len(at) > 0 && urls.Target == "" {
		urls.Target = "http://" + at[0] + "/ric/v1/handles/xapp-handle/"
	}
	n.sources = nbi.NewSources(nbi.SourcesConfig{
		Group: n.audited(), URLs: urls, Leads: n.cluster.IsLeader, LeaderChanged: n.cluster.LeaderChanged, Log: n.log.Named("nbi"),
	})
	config := nbi.Config{Group: n.audited(), Ready: n.cluster.Ready, Log: n.log.Named("nbi")}
	if urls.XApps != "" {
		config.XApps = n.sources
	}
	n.nbi = nbi.New(config)
	return nil
}

// oldManagerFile reads the configuration file of the old route manager; no
// path is an empty one.
func oldManagerFile(path string) (nbi.File, error) {
	if path == "" {
		return nbi.File{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nbi.File{}, fmt.Errorf("--nbi-config: %w", err)
	}
	file, err := nbi.ParseFile(text)
	if err != nil {
		return nbi.File{}, fmt.Errorf("--nbi-config %s: %w", path, err)
	}
	return file, nil
}

// serveRMR serves the listeners of RMR applications and old drivers.
func (n *node) serveRMR(serve func(func() error)) {
	for _, l := range n.sockets.plain["rmr"] {
		serve(func() error { return n.relay.Serve(l) })
	}
	for _, l := range n.sockets.plain["rmr-topics"] {
		serve(func() error { return n.relay.ServeTopics(l) })
	}
	for _, l := range n.sockets.plain["rtg"] {
		serve(func() error { return n.manager.Serve(l) })
	}
	for _, l := range n.sockets.plain["nbi"] {
		serve(func() error { return n.nbi.Serve(l) })
	}
}

// stopRMR ends them: first that nobody is sent here any more, then what is
// under way.
func (n *node) stopRMR(ctx context.Context) {
	n.manager.Shutdown(ctx)
	if err := n.nbi.Shutdown(ctx); err != nil {
		n.log.Warn("nbi did not end in time", "error", err)
	}
	if err := n.relay.Shutdown(ctx); err != nil {
		n.log.Warn("messages were still queued", "dropped", n.relay.Stats().Total.Dropped[relay.Stopped], "error", err)
	}
}

// runManager is manager.Run as a part of the node.
func (n *node) runManager(ctx context.Context) error {
	n.manager.Run(ctx)
	return nil
}

// appsFace knows apps, as the HTTP face wants it.
type appsFace struct{ *manager.Manager }

// Apps returns those of all nodes.
func (f appsFace) Apps(ctx context.Context) []api.App {
	var out []api.App
	for _, a := range f.AllApps(ctx) {
		out = append(out, api.App{
			Name: a.Name, Address: a.Address, Node: a.Node, VersionSent: a.VersionSent, VersionAcked: a.VersionAcked,
			AgeSeconds: a.AgeSeconds, Error: a.Error,
		})
	}
	return out
}
