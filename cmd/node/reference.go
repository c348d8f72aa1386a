package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// manual is what the program says of one command: all there is to know for a
// page of a reference.
type manual struct {
	// path is how it is called, such as "floe meid list"; usage has its
	// arguments, too.
	path, usage string
	// short is half a sentence, long whole ones; example is command lines.
	// needs: see command.
	short, long, example, needs string
	flags                       []manualFlag
	// shell: floe admin has it, too.
	shell bool
}

// manualFlag is one flag of a command.
type manualFlag struct {
	// name is without dashes, letter its short form or ""; value names what it
	// takes, "" where it takes nothing; unset is what holds where it is not
	// given, "" for nothing.
	name, letter, value, unset, help string
	// shared: every command that talks to nodes has it.
	shared bool
}

// manuals describes all commands that do something, by name.
func manuals() []manual {
	var all []manual
	for _, c := range commandTable() {
		if c.run == nil {
			continue
		}
		path := "floe " + c.path()
		all = append(all, manual{path: path, usage: strings.TrimSpace(path + " " + c.args), short: c.short, long: c.help(),
			example: strings.TrimSpace(c.example), needs: c.needs, flags: c.manualFlags(), shell: c.shell})
	}
	slices.SortFunc(all, func(a, b manual) int { return cmp.Compare(a.path, b.path) })
	return all
}

// manualFlags are a command's own flags as it has them, then the shared ones.
func (c *command) manualFlags() []manualFlag {
	flags, own := pflag.NewFlagSet(c.name, pflag.ContinueOnError), pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	flags.SortFlags = false
	c.addFlags(flags, true)
	c.addFlags(own, false)
	var all []manualFlag
	flags.VisitAll(func(f *pflag.Flag) {
		value, help := pflag.UnquoteUsage(f)
		if f.Value.Type() == "bool" {
			value = ""
		}
		m := manualFlag{name: f.Name, letter: f.Shorthand, value: value, unset: f.DefValue, help: help, shared: own.Lookup(f.Name) == nil}
		if m.unset == "false" || strings.Contains(help, "(needed)") {
			m.unset = ""
		}
		all = append(all, m)
	})
	return all
}

func referenceFlags(flags *pflag.FlagSet) {
	flags.Var(newText(""), "man", "write manual pages into `DIR` instead, made if missing")
}

func runReference(_ context.Context, s *session, c *call) error {
	if dir := c.text("man"); dir != "" {
		return writeManPages(dir)
	}
	return writeReference(s.out)
}

const referenceHead = `# The command line

<!-- Made by floe reference: change the help of the command, not this page. -->

%s

Flags may stand anywhere. What begins with a dash and is no flag goes after ` + "`--`" + `; negative numbers stand as they are.
%s is a shell with the commands marked *also in the shell*; ` + "`floe COMMAND --help`" + ` says what is said here.

## Flags of commands that talk to nodes

%s
`

// writeReference writes the page of all commands, as Markdown.
func writeReference(to io.Writer) error {
	all := manuals()
	var shared strings.Builder
	for _, f := range all[0].flags {
		if f.shared {
			f.markdown(&shared)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, referenceHead, prose(rootHelp), "[`floe admin`](#floe-admin)", shared.String())
	for _, m := range all {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```text\n%s\n```\n\n", m.path, prose(m.long), m.usage)
		m.notes(&b)
		if m.needs != "" {
			fmt.Fprintf(&b, "<!-- not run: needs %s -->\n", m.needs)
		}
		fmt.Fprintf(&b, "```sh\n%s\n```\n\n", m.example)
	}
	_, err := io.WriteString(to, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// notes writes a command's own flags, and in which way it is special.
func (m *manual) notes(b *strings.Builder) {
	about, empty := m.about(), true
	for _, f := range m.flags {
		if !f.shared {
			f.markdown(b)
			empty = false
		}
	}
	if !empty {
		b.WriteString("\n")
	}
	if about != "" {
		fmt.Fprintf(b, "%s\n\n", about)
	}
}

// about says where a command works and how long it waits.
func (m *manual) about() string {
	var parts []string
	if m.shell {
		parts = append(parts, "Also in the shell.")
	}
	i := slices.IndexFunc(m.flags, func(f manualFlag) bool { return f.name == "timeout" })
	switch {
	case i < 0:
		parts = append(parts, "Talks to no node.")
	case m.flags[i].unset != "5s":
		parts = append(parts, "Waits "+m.flags[i].unset+" unless `--timeout` is given.")
	}
	if slices.ContainsFunc(m.flags, func(f manualFlag) bool { return f.help == oneNodeHelp() }) {
		parts = append(parts, "Is about one node: `--addr` names it alone.")
	}
	return strings.Join(parts, " ")
}

func oneNodeHelp() string {
	_, help := pflag.UnquoteUsage(&pflag.Flag{Usage: addrOfOne, Value: newText("")})
	return help
}

// markdown writes a flag as an item of a list.
func (f *manualFlag) markdown(b *strings.Builder) {
	unset := ""
	if f.unset != "" {
		unset = " (default `" + f.unset + "`)"
	}
	letter := ""
	if f.letter != "" {
		letter = "-" + f.letter + ", "
	}
	fmt.Fprintf(b, "* `%s`: %s%s\n", strings.TrimSpace(letter+"--"+f.name+" "+f.value), prose(f.help), unset)
}

var (
	flagWord = regexp.MustCompile(`--[a-z][a-z-]*`)
	special  = strings.NewReplacer("<", `\<`, "*", `\*`)
)

// prose is a help's text as Markdown.
func prose(text string) string { return flagWord.ReplaceAllString(special.Replace(text), "`$0`") }
