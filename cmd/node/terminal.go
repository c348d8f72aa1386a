package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/peterh/liner"
	"github.com/spf13/pflag"

	"floe/transport/http/script"
)

// terminal reads the lines of a person, one byte at a time, with history and
// completion.
type terminal struct {
	state   *liner.State
	shell   *shell
	ctx     context.Context // of the shell's run; liner's callbacks take none
	line    string          // what is left of the line
	pending func() bool
	history string
}

func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	return f == os.Stdin && isatty.IsTerminal(f.Fd())
}

// paint returns what gives a text a colour, or another look, on a terminal
// that has colours (no-color.org).
func (s *session) paint(code string) func(string) string {
	if !s.inColour() {
		return func(text string) string { return text }
	}
	return func(text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }
}

func (s *session) inColour() bool {
	if s.env == nil || !showsTerminal(s.out) {
		return false
	}
	without, _ := s.env("NO_COLOR")
	kind, _ := s.env("TERM")
	return without == "" && kind != "dumb"
}

func newTerminal(sh *shell, ctx context.Context) *terminal {
	t := &terminal{state: liner.NewLiner(), shell: sh, ctx: ctx, pending: func() bool { return false }}
	t.state.SetCtrlCAborts(true)
	t.state.SetTabCompletionStyle(liner.TabPrints)
	t.state.SetWordCompleter(t.complete)
	if dir, err := os.UserCacheDir(); err == nil {
		t.history = filepath.Join(dir, "floe", "history")
	}
	if f, err := os.Open(t.history); err == nil {
		_, _ = t.state.ReadHistory(f) // an unreadable history is no history
		f.Close()
	}
	return t
}

// close gives the terminal back and keeps the history.
func (t *terminal) close() {
	if t.history != "" && os.MkdirAll(filepath.Dir(t.history), 0o700) == nil {
		if f, err := os.OpenFile(t.history, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err == nil {
			_, _ = t.state.WriteHistory(f) // not worth a word
			f.Close()
		}
	}
	_ = t.state.Close() // the terminal is gone if this fails
}

// Read is there for io.Reader; the shell's reader uses ReadByte.
func (t *terminal) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c, err := t.ReadByte()
	if err != nil {
		return 0, err
	}
	b[0] = c
	return 1, nil
}

// ReadByte prompts when a new line is due.
func (t *terminal) ReadByte() (byte, error) {
	if t.line == "" {
		prompt := "floe> "
		if t.pending() {
			prompt = "...> "
		}
		line, err := t.state.Prompt(prompt)
		if err != nil {
			return 0, err
		}
		if strings.TrimSpace(line) != "" {
			t.state.AppendHistory(line)
		}
		t.line = line + "\n"
	}
	c := t.line[0]
	t.line = t.line[1:]
	return c, nil
}

// offers are the words that may follow some: commands, those of a command,
// flags, topics, nodes or MEIDs.
func (t *terminal) offers(before []string, begun string) (offers []string) {
	parent := strings.Join(before, " ")
	for _, c := range t.shell.order {
		if c.parent == parent {
			offers = append(offers, c.name+" ")
		}
	}
	if len(offers) > 0 {
		return offers
	}
	c, args := t.shell.commands[before[0]], before[1:]
	if c != nil && c.run == nil && len(args) > 0 {
		c, args = t.shell.commands[before[0]+" "+before[1]], before[2:]
	}
	if c == nil || c.run == nil {
		return nil
	}
	if strings.HasPrefix(begun, "--") {
		flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
		c.addFlags(flags, false)
		flags.VisitAll(func(f *pflag.Flag) { offers = append(offers, "--"+f.Name+" ") })
		return offers
	}
	args = slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "--") })
	for _, name := range t.shell.session.argNames(t.ctx, c, len(args), begun) {
		if c.topic != nil && c.topic(len(args)) {
			name = script.QuoteTopic(name)
		}
		offers = append(offers, name+" ")
	}
	return offers
}

// complete offers words that go on with the one before the cursor.
func (t *terminal) complete(line string, pos int) (head string, completions []string, tail string) {
	start := strings.LastIndexAny(line[:pos], " ;\t") + 1
	head, word, tail := line[:start], line[start:pos], line[pos:]
	before := strings.Fields(line[strings.LastIndex(line[:start], ";")+1 : start])
	offers := t.offers(before, word)
	return head, slices.DeleteFunc(offers, func(o string) bool { return !strings.HasPrefix(o, word) }), tail
}
