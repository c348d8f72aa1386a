package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterh/liner"
	"github.com/spf13/pflag"

	"floe/transport/http/api"
	"floe/transport/http/script"
)

func shellCommands() []*command {
	return []*command{
		{name: "admin", args: "[FILE]", min: 0, max: 1, reads: true, prints: true,
			short: "the shell: icestormadmin's commands, from a terminal or a script",
			long: `The shell. It takes the commands and the grammar of icestormadmin, and more; help
lists them. On a terminal it has history and completion. A script from FILE or
stdin prints data only; errors name the line, and the rest of the script goes
on unless --stop-on-error is given.`,
			flags: func(f *pflag.FlagSet) {
				f.VarP(&list{kind: "commands"}, "execute", "e", "run these `COMMANDS`; may be repeated")
				f.Bool("stop-on-error", false, "end a script at the first error")
			},
			example: "floe admin < graph.txt\nfloe admin -e 'create A B; link A B 5; links'",
			run:     runAdmin},
	}
}

func runAdmin(ctx context.Context, s *session, c *call) error {
	given := c.list("execute")
	if len(given) > 0 && len(c.args) > 0 {
		return usagef("`admin' takes -e or FILE, not both")
	}
	sh := newShell(s, c.bool("stop-on-error"))
	switch {
	case len(given) > 0:
		return sh.runScript(ctx, strings.NewReader(strings.Join(given, ";")))
	case len(c.args) > 0 && c.args[0] != "-":
		f, err := os.Open(c.args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		return sh.runScript(ctx, f)
	case isTerminal(s.in):
		return sh.runTerminal(ctx)
	}
	return sh.runScript(ctx, s.in)
}

// shell runs commands one after the other.
type shell struct {
	session  *session
	commands map[string]*command
	order    []*command
	stop     bool // at the first error
	code     int  // of the first error
	instance string
}

func newShell(s *session, stop bool) *shell {
	inner := *s
	inner.shell = true
	sh := &shell{session: &inner, commands: map[string]*command{}, stop: stop}
	for _, c := range append(commandTable(), sh.ownCommands()...) {
		if c.shell && c.parent == "" {
			sh.commands[c.name] = c
			sh.order = append(sh.order, c)
		}
	}
	return sh
}

var errQuit = errors.New("quit")

// runScript runs a script to its end; the exit code is that of its first error.
func (sh *shell) runScript(ctx context.Context, in io.Reader) error {
	r := script.NewReader(in)
	for ctx.Err() == nil {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		sh.session.line = c.Line
		if err == nil {
			err = sh.execute(ctx, c)
		}
		if errors.Is(err, errQuit) {
			break
		}
		if fatal := sh.note(err); fatal != nil {
			return fatal
		}
		if err != nil && sh.stop {
			break
		}
	}
	if sh.code != 0 {
		return &exitError{sh.code}
	}
	return ctx.Err()
}

// note prints an error of a script and keeps its exit code. It returns the
// errors of the script's source, which end it.
func (sh *shell) note(err error) error {
	var usage *usageError
	var bad *script.Error
	var kind *api.Error
	var ran failure
	code := api.ExitRefused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		sh.session.line = bad.Line
		err = errors.New(bad.Text)
	case errors.As(err, &kind):
		code = kind.Kind.Exit()
	case errors.As(err, &usage), errors.As(err, &ran):
	default:
		return err
	}
	sh.session.warn("error", err)
	if sh.code == 0 {
		sh.code = code
	}
	return nil
}

// execute runs one command.
func (sh *shell) execute(ctx context.Context, words script.Command) error {
	name := words.Words[0].Text
	c := sh.commands[name]
	if c == nil || words.Words[0].Quoted {
		return usagef("unknown command `%s' (type `help' for more info)", name)
	}
	call, flags, err := sh.parse(ctx, c, words.Words[1:])
	if err != nil {
		return err
	}
	s := *sh.session
	s.json = flagBool(flags, "json", s.json)
	if err := c.run(ctx, &s, call); err != nil {
		if errors.Is(err, errQuit) {
			return err
		}
		return failure{err}
	}
	return nil
}

func flagBool(flags *pflag.FlagSet, name string, otherwise bool) bool {
	f := flags.Lookup(name)
	if f == nil || !f.Changed {
		return otherwise
	}
	return f.Value.String() == "true"
}

// parse tells flags from arguments: a bare word with two dashes is a flag.
// Topics are read as icestormadmin reads them.
func (sh *shell) parse(ctx context.Context, c *command, words []script.Word) (*call, *pflag.FlagSet, error) {
	flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	c.addFlags(flags, false)
	var given, args []string
	for _, w := range words {
		if !w.Quoted && strings.HasPrefix(w.Text, "--") && len(w.Text) > 2 {
			given = append(given, w.Text)
		} else {
			args = append(args, w.Text)
		}
	}
	if err := flags.Parse(given); err != nil {
		return nil, nil, usagef("`%s': %v", c.name, err)
	}
	if (c.name == "topics" || c.name == "links") && len(args) == 1 && args[0] == sh.instanceName(ctx) {
		args = nil // icestormadmin's argument is the instance whose topics are meant
	}
	if err := c.checkArgs(args); err != nil {
		return nil, nil, err
	}
	call := &call{args: args, flags: flags, instances: make([]string, len(args))}
	for i := range args {
		if c.topic == nil || !c.topic(i) {
			continue
		}
		if err := sh.topicWord(ctx, c, call, i); err != nil {
			return nil, nil, err
		}
	}
	return call, flags, nil
}

// topicWord reads argument i as a topic. The name of this cluster's instance
// before it means nothing; another's means another cluster, and only a
// link's target may lie there.
func (sh *shell) topicWord(ctx context.Context, c *command, call *call, i int) error {
	instance, name, err := script.TopicWord(call.args[i])
	if err != nil {
		return failure{err}
	}
	if instance != "" && instance != sh.instanceName(ctx) {
		if i != 1 || c.name != "link" && c.name != "unlink" {
			return failure{fmt.Errorf("couldn't find IceStorm service `%s'", instance)}
		}
		call.instances[i] = instance
	}
	call.args[i] = name
	return nil
}

// instanceName is the category of this cluster's Ice identities.
func (sh *shell) instanceName(ctx context.Context) string {
	if sh.instance == "" {
		if st, err := sh.session.client.Status(ctx); err == nil {
			sh.instance = st.Instance
		}
	}
	return sh.instance
}

// runTerminal talks to a person.
func (sh *shell) runTerminal(ctx context.Context) error {
	t := newTerminal(sh, ctx)
	defer t.close()
	r := script.NewReader(t)
	t.pending = r.Pending
	for ctx.Err() == nil {
		c, err := r.Next()
		if errors.Is(err, liner.ErrPromptAborted) {
			r = script.NewReader(t)
			t.pending = r.Pending
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = sh.execute(ctx, c)
		}
		if errors.Is(err, errQuit) {
			return nil
		}
		if fatal := sh.note(err); fatal != nil {
			return fatal
		}
	}
	return nil
}
