package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
	sh := newShell(s, c.bool("stop-on-error"), c.flags.Changed("timeout"))
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
	commands map[string]*command // by path
	order    []*command
	stop     bool // at the first error
	code     int  // of the first error
	timeout  bool // was given, and holds for all commands
	instance string
}

func newShell(s *session, stop, timeout bool) *shell {
	inner := *s
	inner.shell = true
	sh := &shell{session: &inner, commands: map[string]*command{}, stop: stop, timeout: timeout}
	for _, c := range append(commandTable(), sh.ownCommands()...) {
		if c.shell {
			sh.commands[c.path()] = c
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
	var said *exitError
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
	case errors.As(err, &usage), errors.As(err, &said), errors.As(err, &ran):
	default:
		return err
	}
	if said == nil {
		sh.session.warn("error", err)
	}
	if sh.code == 0 {
		sh.code = code
	}
	return nil
}

// execute runs one command.
func (sh *shell) execute(ctx context.Context, words script.Command) error {
	c, rest, err := sh.find(words.Words)
	if err != nil {
		return err
	}
	call, flags, err := sh.parse(ctx, c, rest)
	if err != nil {
		return err
	}
	s := *sh.session
	s.json = flagBool(flags, "json", s.json)
	defer sh.suit(&s, c, flags)()
	if err := c.run(ctx, &s, call); err != nil {
		if errors.Is(err, errQuit) {
			return err
		}
		return failure{c.withWayOut(&s, err)}
	}
	return nil
}

// find finds the command that the words begin with, and returns the others.
func (sh *shell) find(words []script.Word) (*command, []script.Word, error) {
	name := words[0].Text
	c := sh.commands[name]
	if c == nil || words[0].Quoted {
		return nil, nil, sh.unknown(name, "")
	}
	if c.run != nil {
		return c, words[1:], nil
	}
	if len(words) > 1 && !words[1].Quoted {
		if part := sh.commands[name+" "+words[1].Text]; part != nil {
			return part, words[2:], nil
		}
		return nil, nil, sh.unknown(words[1].Text, name)
	}
	return nil, nil, usagef("`%s' needs one of its commands (type `help %s')", name, name)
}

// unknown is the refusal of a word that is no command, or none of a parent's.
func (sh *shell) unknown(word, parent string) error {
	var names []string
	for _, c := range sh.order {
		if c.parent == parent {
			names = append(names, c.name)
		}
	}
	return usagef("unknown command `%s'%s (type `help' for more info)", strings.TrimSpace(parent+" "+word), didYouMean(word, slices.Values(names)))
}

// suit gives a command a client of its own where the shell's does not suit
// it: it is slow, or asks for a stale answer. The result lets go of it.
func (sh *shell) suit(s *session, c *command, flags *pflag.FlagSet) (done func()) {
	config := s.config
	config.Stale = flagBool(flags, "stale", config.Stale)
	if c.slow && !sh.timeout {
		config.Timeout = timeoutFor(c)
	}
	if c.local || !c.slow && config.Stale == s.config.Stale && config.Timeout == s.config.Timeout {
		return func() {}
	}
	if s.config = config; c.slow {
		s.startMeter()
	}
	s.connect()
	return s.close
}

func flagBool(flags *pflag.FlagSet, name string, otherwise bool) bool {
	f := flags.Lookup(name)
	if f == nil || !f.Changed {
		return otherwise
	}
	return f.Value.String() == "true"
}

// parse tells flags from arguments: a bare word with two dashes is a flag,
// and takes the next word where it needs a value.
// Topics are read as icestormadmin reads them.
func (sh *shell) parse(ctx context.Context, c *command, words []script.Word) (*call, *pflag.FlagSet, error) {
	flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	c.addFlags(flags, false)
	var given, args []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Quoted || !strings.HasPrefix(w.Text, "--") || len(w.Text) == 2 {
			args = append(args, w.Text)
			continue
		}
		given = append(given, w.Text)
		if f := flags.Lookup(w.Text[2:]); f != nil && f.NoOptDefVal == "" && i+1 < len(words) {
			i++
			given = append(given, words[i].Text) // its value
		}
	}
	if err := flags.Parse(given); err != nil {
		return nil, nil, fmt.Errorf("`%s': %w", c.name, flagError(flags, err))
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
