package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"floe/transport/http/api"
)

func keyCommands() []*command {
	return []*command{
		{name: "keys", short: "change the secrets of the gossip while all runs",
			long: `Change the secrets of the gossip while all runs: add the new one, have all nodes use
it, remove the old one. All nodes have to answer. Ids tell nothing of the secrets.`,
			example: "floe keys list\nfloe keys add new-secret"},
		{name: "list", parent: "keys", max: 0, prints: true,
			short:   "list the secrets by id, who has them and who sends with them",
			example: "floe keys list",
			run:     runKeysList},
		{name: "add", parent: "keys", args: "FILE", min: 1, max: 1, prints: true,
			short: "give all nodes a further secret, which they take from others",
			long: `Give all nodes a further secret, 16, 24 or 32 bytes in base64, which they take from
others and do not send with yet; head -c 32 /dev/urandom | base64 makes one. It has to
stand in --gossip-key-file of nodes that are yet to come.`,
			example: "floe keys add new-secret",
			run:     runKeysAdd},
		{name: "use", parent: "keys", args: "ID", min: 1, max: 1, prints: true,
			short:   "have all nodes send with a secret that all have",
			example: "floe keys use 5a0c19e4",
			run:     runKeysUse},
		{name: "remove", parent: "keys", args: "ID", min: 1, max: 1, prints: true,
			short:   "take a secret away that no node sends with",
			example: "floe keys remove 81f3b6aa",
			run:     runKeysRemove},
	}
}

func runKeysList(ctx context.Context, s *session, _ *call) error {
	keys, err := s.client.Keys(ctx)
	return s.sayKeys(keys, err)
}

func runKeysAdd(ctx context.Context, s *session, c *call) error {
	b, err := os.ReadFile(c.args[0])
	if err != nil {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
		return fmt.Errorf("%s: the secret is not 16, 24 or 32 bytes in base64", c.args[0])
	}
	keys, err := s.client.ChangeKeys(ctx, api.KeyChange{Do: "add", Key: key})
	return s.sayKeys(keys, err)
}

func runKeysUse(ctx context.Context, s *session, c *call) error {
	keys, err := s.client.ChangeKeys(ctx, api.KeyChange{Do: "use", ID: c.args[0]})
	return s.sayKeys(keys, err)
}

func runKeysRemove(ctx context.Context, s *session, c *call) error {
	keys, err := s.client.ChangeKeys(ctx, api.KeyChange{Do: "remove", ID: c.args[0]})
	return s.sayKeys(keys, err)
}

func (s *session) sayKeys(keys api.Keys, err error) error {
	if err != nil {
		return err
	}
	return s.print(keys, func() {
		w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tKNOWN TO\tSENT WITH BY")
		for _, k := range keys.Keys {
			fmt.Fprintf(w, "%s\t%s\t%s\n", k.ID, strings.Join(k.Nodes, ","), strings.Join(k.Senders, ","))
		}
		_ = w.Flush() // stdout is gone if this fails
		if len(keys.Silent) > 0 {
			s.say("no answer from %s", strings.Join(keys.Silent, ","))
		}
	})
}

// Keys asks all nodes for the secrets of the gossip.
func (f nodesFace) Keys(ctx context.Context) api.Keys {
	all, silent := f.cluster.Keys(ctx)
	out := api.Keys{Keys: []api.Key{}, Silent: append([]string{}, silent...)}
	for _, k := range all {
		out.Keys = append(out.Keys, api.Key{ID: k.ID, Nodes: k.Nodes, Senders: append([]string{}, k.Senders...)})
	}
	return out
}

// ChangeKeys changes them.
func (f nodesFace) ChangeKeys(ctx context.Context, c api.KeyChange) error {
	switch c.Do {
	case "add":
		return f.cluster.AddKey(ctx, c.Key)
	case "use":
		return f.cluster.UseKey(ctx, c.ID)
	}
	return f.cluster.RemoveKey(ctx, c.ID)
}
