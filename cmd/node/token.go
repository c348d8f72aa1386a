package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

func tokenCommands() []*command {
	return []*command{
		{name: "token", short: "say who may do what",
			long: `Say who may do what. Until the first token is made, and without certificates,
everybody who reaches a node's HTTP port may do everything; from then on each call
needs a token, or a certificate, with the right for it.`,
			example: "floe token add root --role cluster"},
		{name: "add", parent: "token", args: "NAME", min: 1, max: 1, prints: true,
			short: "make a token, which is shown this once",
			long: `Make a token and print it. Nobody can show it again: nodes hold a hash of it. Roles are
read, publish, operate (topics, links, routes, MEIDs) and cluster (members, keys,
tokens, restore); each includes those before it.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newChoice("read", "read", "publish", "operate", "cluster"), "role", "what its holder may do")
				f.Var(newDuration(time.Hour), "ttl", "how long it is good; for ever if not given")
			},
			example: "floe token add root --role cluster > root.token\nfloe token add ci --role operate --ttl 24h --token-file root.token",
			run:     runTokenAdd},
		{name: "join", parent: "token", max: 0, prints: true,
			short: "make a token with which one node may join, once",
			flags: func(f *pflag.FlagSet) {
				f.Var(newDuration(time.Hour), "ttl", "how long it is good, 720h at most")
			},
			example: "floe token join --ttl 10m",
			run:     runTokenJoin},
		{name: "list", parent: "token", max: 0, prints: true, reads: true,
			short:   "list the tokens, without their secrets",
			example: "floe token list",
			run:     runTokenList},
		{name: "remove", parent: "token", args: "NAME", min: 1, max: 1, prints: true,
			short:   "remove a token: it is good for nothing from then on",
			example: "floe token remove ci",
			run:     runTokenRemove},
	}
}

func runTokenAdd(ctx context.Context, s *session, c *call) error {
	ask := api.NewToken{Name: c.args[0], Role: c.text("role")}
	if c.flags.Changed("ttl") {
		ask.TTLSeconds = c.duration("ttl").Seconds()
	}
	return s.newToken(ctx, ask)
}

func runTokenJoin(ctx context.Context, s *session, c *call) error {
	return s.newToken(ctx, api.NewToken{Join: true, TTLSeconds: c.duration("ttl").Seconds()})
}

func (s *session) newToken(ctx context.Context, ask api.NewToken) error {
	t, err := s.client.AddToken(ctx, ask)
	if err != nil {
		return err
	}
	return s.print(t, func() { s.say("%s", t.Secret) })
}

func runTokenList(ctx context.Context, s *session, _ *call) error {
	all, err := s.client.Tokens(ctx)
	if err != nil {
		return err
	}
	return s.print(all, func() {
		if s.none(len(all), "no tokens: whoever reaches a node may do everything; floe token add NAME --role cluster changes that") {
			return
		}
		w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tROLE\tMADE\tENDS")
		for _, t := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, tokenRole(t), t.Made.Format(time.RFC3339), tokenEnd(t))
		}
		_ = w.Flush() // stdout is gone if this fails
	})
}

func tokenRole(t api.Token) string {
	if t.Join {
		return "(join)"
	}
	return t.Role
}

func tokenEnd(t api.Token) string {
	switch {
	case t.Ends == nil:
		return "never"
	case t.Ended:
		return "ended " + t.Ends.Format(time.RFC3339)
	}
	return t.Ends.Format(time.RFC3339)
}

func runTokenRemove(ctx context.Context, s *session, c *call) error {
	removed, err := s.client.RemoveToken(ctx, c.args[0])
	if err != nil {
		return err
	}
	return s.print(removed, func() {})
}

// secretOf returns the token that a command shows: that of --token-file, or
// FLOE_TOKEN itself.
func secretOf(flags *pflag.FlagSet, std stdio) (string, error) {
	file := flags.Lookup("token-file").Value.String()
	if file == "" {
		if std.env == nil {
			return "", nil
		}
		text, _ := std.env("FLOE_TOKEN")
		return strings.TrimSpace(text), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", failure{fmt.Errorf("--token-file: %w", err)}
	}
	text := strings.TrimSpace(string(b))
	if text == "" || strings.ContainsAny(text, " \t\r\n") || len(text) > 1024 {
		return "", failure{fmt.Errorf("--token-file %s: one line with a token is due", file)}
	}
	return text, nil
}
