package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

// offered is how many MEIDs are offered at most: there may be a million.
const offered = 100

// argNames are the names that may stand for argument i: topics, nodes or
// MEIDs. Of MEIDs they are those that begin with what is there already.
func (s *session) argNames(ctx context.Context, c *command, i int, begun string) []string {
	is := func(kind func(int) bool) bool { return kind != nil && kind(i) }
	switch {
	case is(c.topic):
		return s.topicNames(ctx)
	case is(c.node):
		return namesOf(s.client.Members, func(m api.Member) string { return m.ID })(ctx)
	case is(c.meid):
		return s.meidNames(ctx, begun)
	}
	return nil
}

// namesOf makes a call that lists things one of their names; what can't be
// had has none.
func namesOf[T any](list func(context.Context) ([]T, error), name func(T) string) func(context.Context) []string {
	return func(ctx context.Context) []string {
		all, err := list(ctx)
		if err != nil {
			return nil
		}
		names := make([]string, len(all))
		for i, one := range all {
			names[i] = name(one)
		}
		return names
	}
}

func (s *session) topicNames(ctx context.Context) []string {
	return namesOf(s.client.Topics, func(t api.Topic) string { return t.Name })(ctx)
}

func (s *session) appNames(ctx context.Context) []string {
	return namesOf(s.client.Apps, func(a api.App) string { return a.Name })(ctx)
}

func (s *session) meidNames(ctx context.Context, begun string) []string {
	like := func(ctx context.Context) ([]api.MEID, error) { return s.client.MEIDsLike(ctx, begun, offered) }
	return namesOf(like, func(m api.MEID) string { return m.MEID })(ctx)
}

// completer offers what may stand for an argument.
func (c *command) completer(std stdio) cobra.CompletionFunc {
	return c.offering(std, func(ctx context.Context, s *session, args []string, begun string) []string {
		return s.argNames(ctx, c, len(args), begun)
	})
}

// offering makes a completion of names that nodes know.
func (c *command) offering(std stdio, names func(ctx context.Context, s *session, args []string, begun string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if c.local || fillIn(cmd, std) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := newSession(stdio{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: std.env}, c, cmd.Flags())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.close()
		fits := slices.DeleteFunc(names(cmd.Context(), s, args, begun), func(name string) bool { return unfit(name) || !strings.HasPrefix(name, begun) })
		return fits, cobra.ShellCompDirectiveNoFileComp
	}
}

// unfit tells whether a name can't be offered: completion has one a line.
func unfit(name string) bool { return name == "" || strings.ContainsFunc(name, unicode.IsControl) }

// completeFlags offers values of flags: MEIDs, applications, and those of
// which there are few.
func (c *command) completeFlags(cmd *cobra.Command, std stdio) {
	offer := map[string]cobra.CompletionFunc{
		"meid": c.offering(std, func(ctx context.Context, s *session, _ []string, begun string) []string {
			return s.meidNames(ctx, begun)
		}),
		"sender": c.offering(std, func(ctx context.Context, s *session, _ []string, _ string) []string { return s.appNames(ctx) }),
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		by := offer[f.Name]
		if choices := strings.Split(f.Value.Type(), "|"); len(choices) > 1 {
			by = cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
		}
		if by != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, by) // the flag is there
		}
	})
}
