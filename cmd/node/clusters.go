package main

import (
	"context"
	"strings"

	"floe/transport/http/api"
)

func clusterCommands() []*command {
	return []*command{
		{name: "clusters", shell: true, short: "know other floe clusters, to link topics to theirs",
			long: `Know other floe clusters. Once one is known, floe link A NAME/B links a topic to
one of its topics. Add it again with new addresses where all its nodes moved at
once; links stay.`,
			example: "floe clusters add east 10.1.0.1:7400,10.1.0.2:7400\nfloe link A east/B 5"},
		{parent: "clusters", shell: true, name: "add", args: "NAME HOST:PORT[,...]", min: 2, max: 2, prints: true,
			short:   "make another cluster known by the peer addresses of some of its nodes",
			example: "floe clusters add east 10.1.0.1:7400,10.1.0.2:7400",
			run:     runAddCluster},
		{parent: "clusters", shell: true, name: "list", args: "", min: 0, max: 0, prints: true, reads: true,
			short:   "list the clusters that are known",
			example: "floe clusters list",
			run:     runListClusters},
		{parent: "clusters", shell: true, name: "remove", args: "NAME", min: 1, max: 1,
			short:   "forget a cluster no link leads to",
			example: "floe clusters remove east",
			run:     runRemoveCluster},
	}
}

func runAddCluster(ctx context.Context, s *session, c *call) error {
	if c.args[0] == "" || strings.Contains(c.args[0], "/") {
		return usagef("`add' needs a name without a slash for the cluster, not %q", c.args[0])
	}
	addresses := newAddresses("")
	if err := addresses.Set(c.args[1]); err != nil {
		return usagef("`add': %v", err)
	}
	added, err := s.client.AddCluster(ctx, api.Cluster{Name: c.args[0], Addresses: strings.Split(addresses.text, ",")})
	if err != nil {
		return err
	}
	return s.print(added, func() { s.say("%s is cluster %s", added.Name, added.ID) })
}

func runListClusters(ctx context.Context, s *session, _ *call) error {
	all, err := s.client.Clusters(ctx)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		s.none(len(all), "no other clusters are known; floe clusters add NAME HOST:PORT changes that")
		for _, c := range all {
			s.say("%s %s %s", c.Name, c.ID, strings.Join(c.Addresses, ","))
		}
	})
}

func runRemoveCluster(ctx context.Context, s *session, c *call) error {
	return s.client.RemoveCluster(ctx, c.args[0])
}
