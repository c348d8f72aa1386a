package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `floe is a replicated home for IceStorm topics: topics, links with costs and
subscriptions, kept by a group of nodes and used by unmodified Ice programs.

Start a node with floe start; the other commands talk to a running one.
Each flag may also be given as FLOE_NAME in the environment (--queue-bytes is
FLOE_QUEUE_BYTES) or as a key of the TOML file --config names. A flag counts
more than the environment, and that more than the file.

Exit codes: 0 done, 1 refused or failed, 2 usage, 3 outcome unknown,
4 no quorum, node not ready, no node reachable, or no answer in time,
5 no disk space, 6 the disk failed a node with --on-storage-error=exit.`

// newRoot makes the command line of the whole program.
func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:           "floe",
		Short:         "a replicated home for IceStorm topics",
		Long:          rootHelp,
		Example:       "  floe start\n  floe create A B\n  floe link A B 5",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetHelpTemplate(helpTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd.Flags(), err) })
	root.PersistentFlags().Var(newText(""), "config", "TOML `FILE` with settings")
	parents := map[string]*cobra.Command{"": root}
	for _, c := range commandTable() {
		add(parents, c, std)
	}
	return root
}

// helpTemplate ends with the example: it is what people look for.
const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}Usage:
{{if .HasAvailableSubCommands}}  {{.CommandPath}} COMMAND

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{else}}  {{.UseLine}}
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableInheritedFlags}}
Flags of all commands:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasExample}}
Example:
{{.Example}}
{{end}}`

// add makes the cobra command of one row of the table.
func add(parents map[string]*cobra.Command, c *command, std stdio) {
	cmd := &cobra.Command{
		Use:     strings.TrimSpace(c.name + " " + c.args),
		Short:   c.short,
		Long:    c.help(),
		Example: indent(c.example),
		Args:    func(_ *cobra.Command, args []string) error { return c.checkArgs(args) },
	}
	parents[c.parent].AddCommand(cmd)
	if c.run == nil {
		cmd.Args = knownCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error {
			return usagef("%s needs one of its commands", cmd.CommandPath())
		}
		parents[c.name] = cmd
		return
	}
	cmd.Flags().SortFlags = c.local
	c.addFlags(cmd.Flags(), true)
	cmd.ValidArgsFunction = c.completer(std)
	c.completeFlags(cmd, std)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return fillIn(cmd, std) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.runOnce(cmd.Context(), std, cmd.Flags(), args)
	}
}

// runOnce runs a command as the program's only one.
func (c *command) runOnce(ctx context.Context, std stdio, flags *pflag.FlagSet, args []string) error {
	s, err := newSession(std, c, flags)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.run(ctx, s, &call{args: args, flags: flags}); err != nil {
		return failure{c.withWayOut(s, err)}
	}
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// settleNumbers lets negative numbers stand among the arguments: pflag takes
// -3 for a flag. Where there is one, flags come first, then --, then the rest.
func settleNumbers(root *cobra.Command, args []string) []string {
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		return args
	}
	path := args[:len(args)-len(rest)]
	flags, names, moved := splitArgs(cmd, rest)
	if !moved {
		return args
	}
	out := append(append([]string{}, path...), flags...)
	return append(append(out, "--"), names...)
}

func splitArgs(cmd *cobra.Command, args []string) (flags, names []string, moved bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return flags, append(names, args[i+1:]...), moved
		case isNegative(a):
			names, moved = append(names, a), true
		case len(a) > 1 && a[0] == '-':
			flags = append(flags, a)
			if takesNext(cmd, a) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		default:
			names = append(names, a)
		}
	}
	return flags, names, moved
}

// settleInsecure lets the names after --insecure follow it with a blank: as
// the flag may stand bare, pflag would take them for arguments.
func settleInsecure(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		names := newNames("", "peer", "http")
		if args[i] == "--insecure" && i+1 < len(args) && names.Set(args[i+1]) == nil {
			out = append(out, "--insecure="+args[i+1])
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

func isNegative(a string) bool {
	return len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "0123456789") == ""
}

// takesNext tells whether a flag takes the next argument for its value.
func takesNext(cmd *cobra.Command, a string) bool {
	if strings.Contains(a, "=") {
		return false
	}
	name := strings.TrimLeft(a, "-")
	f := cmd.Flag(name)
	if !strings.HasPrefix(a, "--") {
		f = cmd.Flags().ShorthandLookup(name[:1])
		if len(name) > 1 {
			return false
		}
	}
	return f != nil && f.NoOptDefVal == ""
}

// timeoutFor is how long a command waits unless told otherwise.
func timeoutFor(c *command) time.Duration {
	if c.slow {
		return 60 * time.Second
	}
	return 5 * time.Second
}

func (c *command) help() string {
	if c.long == "" {
		return strings.ToUpper(c.short[:1]) + c.short[1:] + "."
	}
	return strings.TrimSpace(c.long)
}

func (c *command) checkArgs(args []string) error {
	if c.max == 0 && len(args) > 0 {
		return usagef("`%s' takes no arguments, and here is %q", c.name, args[0])
	}
	if len(args) < c.min || c.max >= 0 && len(args) > c.max {
		plural := "s"
		if len(args) == 1 {
			plural = ""
		}
		return usagef("`%s' takes `%s', not %d argument%s", c.name, c.args, len(args), plural)
	}
	return nil
}
