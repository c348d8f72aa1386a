package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
)

// ownCommands are the commands that only the shell has: those of
// icestormadmin that make no sense on a command line.
func (sh *shell) ownCommands() []*command {
	return []*command{
		{name: "current", args: "[INSTANCE]", max: 1, shell: true, local: true,
			short: "print, or confirm, the topic manager in use", example: "current", run: sh.runCurrent},
		{name: "replica", args: "[INSTANCE]", max: 1, shell: true, local: true,
			short: "list the nodes that are there, with role and address", example: "replica", run: sh.runReplica},
		{name: "help", args: "[COMMAND]", max: 2, shell: true, local: true,
			short: "list the commands, or explain one", example: "help link", run: sh.runHelp},
		{name: "exit", max: 0, shell: true, local: true, short: "leave", example: "exit", run: quit},
		{name: "quit", max: 0, shell: true, local: true, short: "leave", example: "quit", run: quit},
	}
}

func quit(context.Context, *session, *call) error { return errQuit }

func (sh *shell) runCurrent(ctx context.Context, s *session, c *call) error {
	if len(c.args) == 0 {
		s.say("%s/TopicManager", sh.instanceName(ctx))
		return nil
	}
	return sh.checkInstance(ctx, c.args[0])
}

func (sh *shell) checkInstance(ctx context.Context, name string) error {
	if name != sh.instanceName(ctx) {
		return fmt.Errorf("couldn't find IceStorm service `%s'", name)
	}
	return nil
}

func (sh *shell) runReplica(ctx context.Context, s *session, c *call) error {
	if len(c.args) == 1 {
		if err := sh.checkInstance(ctx, c.args[0]); err != nil {
			return err
		}
	}
	all, err := s.client.Members(ctx)
	if err != nil {
		return err
	}
	s.say("replica count: %d", len(all))
	for _, m := range all {
		s.say("%s: %s at %s", m.ID, m.Role, m.Address)
	}
	return nil
}

func (sh *shell) runHelp(_ context.Context, s *session, c *call) error {
	if len(c.args) > 0 {
		return sh.explain(s, strings.Join(c.args, " "))
	}
	return sh.list(s, func(c *command) bool { return c.run != nil })
}

// list prints a line for each command that is wanted.
func (sh *shell) list(s *session, wanted func(*command) bool) error {
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	for _, c := range sh.order {
		if wanted(c) {
			fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(c.path()+" "+c.args), c.short)
		}
	}
	return w.Flush()
}

func (sh *shell) explain(s *session, name string) error {
	c := sh.commands[name]
	if c == nil {
		parent, word, nested := strings.Cut(name, " ")
		if !nested {
			parent, word = "", name
		}
		return sh.unknown(word, parent)
	}
	s.say("%s\n%s\n", strings.TrimSpace(c.path()+" "+c.args), c.help())
	if c.run == nil {
		if err := sh.list(s, func(part *command) bool { return part.parent == name }); err != nil {
			return err
		}
		s.say("")
	}
	s.say("Example:\n%s", indent(strings.ReplaceAll(c.example, "floe ", "")))
	return nil
}
