package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"floe/transport/certs"
	"floe/transport/http/client"
)

// session is what a command works with: the program's streams, a client, and
// how to print.
type session struct {
	stdio
	client *client.Client
	json   bool
	// shell is true inside floe admin, where line is the line of the
	// command, 0 on a terminal.
	shell bool
	line  int
	// config is what the client was made of.
	config client.Config
	// meter shows how far a slow command is; nil where nobody looks.
	meter *meter
}

// newSession makes a session from a command's flags.
func newSession(std stdio, c *command, flags *pflag.FlagSet) (*session, error) {
	s := &session{stdio: std}
	if f := flags.Lookup("json"); f != nil {
		s.json = f.Value.String() == "true"
	}
	if c.local {
		return s, nil
	}
	timeout, err := time.ParseDuration(flags.Lookup("timeout").Value.String())
	if err != nil {
		return nil, usagef("--timeout: %v", err)
	}
	addresses := strings.Split(flags.Lookup("addr").Value.String(), ",")
	if c.one && len(addresses) > 1 { // whichever answers first must not do what is meant for one
		return nil, usagef("`%s' is about one node, and --addr (or FLOE_ADDR) names %d: say which, such as --addr %s", c.name, len(addresses), addresses[0])
	}
	s.config = client.Config{
		Addresses: addresses,
		Timeout:   timeout,
		OnStale:   func(c client.Copy) { fmt.Fprintf(std.err, "stale: %s\n", c) },
	}
	if s.config.TLS, err = clientFiles(flags); err != nil {
		return nil, err
	}
	if s.config.Token, err = secretOf(flags, std); err != nil {
		return nil, err
	}
	if f := flags.Lookup("stale"); f != nil {
		s.config.Stale = f.Value.String() == "true"
	}
	if c.slow {
		s.startMeter()
	}
	s.connect()
	return s, nil
}

// clientFiles are how a command speaks TLS; nil: by its flags it does not.
func clientFiles(flags *pflag.FlagSet) (*tls.Config, error) {
	text := func(name string) string { return flags.Lookup(name).Value.String() }
	files := certs.Files{Cert: text("tls-cert"), Key: text("tls-key"), CA: text("tls-ca")}
	switch {
	case (files.Cert == "") != (files.Key == ""):
		return nil, usagef("--tls-cert and --tls-key go together")
	case files.CA == "" && files.Cert != "":
		return nil, usagef("--tls-cert needs --tls-ca, the authority of the cluster")
	case files.CA == "":
		return nil, nil
	}
	config, err := certs.Client(files)
	if err != nil {
		return nil, failure{fmt.Errorf("--tls-ca, --tls-cert, --tls-key: %w", err)}
	}
	return config, nil
}

// connect makes the client of the config.
func (s *session) connect() {
	if s.config.Sending = nil; s.meter != nil {
		s.config.Sending = s.meter.sending
	}
	s.client = client.New(s.config)
}

func (s *session) close() {
	s.meter.stop()
	if s.client != nil {
		s.client.Close()
	}
}

// print writes a value as JSON, or as text by the function.
func (s *session) print(v any, text func()) error {
	s.meter.stop()
	if !s.json {
		text()
		return nil
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n", b)
	return err
}

// none tells a person who looks at an empty list what fills it, and whether
// it did; where a program reads stdout it says nothing.
func (s *session) none(found int, text string) bool {
	if found > 0 || s.json || !showsTerminal(s.out) {
		return false
	}
	if s.shell {
		text = strings.ReplaceAll(text, "floe ", "")
	}
	fmt.Fprintln(s.err, text)
	return true
}

// errShellInput is the answer to - for stdin inside the shell.
var errShellInput = usagef("in the shell - stands for nothing: stdin holds the commands")

// say prints a line of text that no program needs.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

// warn writes a line to stderr; in a script it names the line.
func (s *session) warn(kind string, err error) {
	where := ""
	if s.line > 0 {
		where = fmt.Sprintf("line %d: ", s.line)
	}
	fmt.Fprintf(s.err, "%s%s: %v\n", where, kind, err)
}

// printLine writes a value as one line of JSON.
func (s *session) printLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n", b)
	return err
}

// contextText is an event's context as key=value, sorted by key.
func contextText(c map[string]string) string {
	parts := make([]string, 0, len(c))
	for _, k := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, k+"="+c[k])
	}
	return strings.Join(parts, ",")
}
