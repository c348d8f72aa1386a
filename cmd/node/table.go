package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

// command is one row of the table that serves the command line and the shell.
type command struct {
	// name is the word it is called by; parent the command it belongs to.
	name, parent string
	// args are its arguments, for people; min and max how many (max < 0: any).
	args     string
	min, max int
	// short, long and example are its help; the example is one or more
	// command lines.
	short, long, example string
	// needs is what has to be there for the example beside a cluster, which
	// the test that runs the examples of the reference has not; mostly "".
	needs string
	// flags adds the flags of its own; nil: none.
	flags func(*pflag.FlagSet)
	// prints: it has --json. reads: it has --stale. slow: it may take a
	// minute. local: it talks to no node. one: it is about the node it asks.
	// shell: the shell has it, too.
	prints, reads, slow, local, one, shell bool
	// topic tells whether argument i of n is a topic, which the shell reads
	// as icestormadmin does; nil: none is. node and meid tell whether it is
	// a node's id or an MEID.
	topic, node, meid func(i int) bool
	// run does it; nil for a command that only has commands of its own.
	run func(ctx context.Context, s *session, c *call) error
}

// withWayOut adds to what a read can't have without a majority that there is
// something else to be had.
func (c *command) withWayOut(s *session, err error) error {
	var known *api.Error
	if !c.reads || s.config.Stale || !errors.As(err, &known) || known.Kind != api.NoQuorum || strings.Contains(known.Message, "--stale") {
		return err
	}
	told := *known
	told.Message += "; --stale shows what the node asked has"
	return &told
}

// path is the words a command is called by.
func (c *command) path() string { return strings.TrimSpace(c.parent + " " + c.name) }

// call is one call of a command.
type call struct {
	args  []string
	flags *pflag.FlagSet
	// instances are the instance parts of the topic words, in the shell.
	instances []string
}

func (c *call) bool(name string) bool {
	v, err := c.flags.GetBool(name)
	return err == nil && v
}

func (c *call) text(name string) string {
	f := c.flags.Lookup(name)
	if f == nil {
		return ""
	}
	return f.Value.String()
}

func (c *call) duration(name string) time.Duration {
	d, _ := time.ParseDuration(c.text(name)) // checked when it was set
	return d
}

// list returns the items of a flag that may be repeated.
func (c *call) list(name string) []string {
	if l, ok := c.flags.Lookup(name).Value.(*list); ok {
		return l.items
	}
	return nil
}

// commandTable lists all commands in the order of the help.
func commandTable() []*command {
	var all []*command
	for _, family := range [][]*command{startCommands(), topicCommands(), linkCommands(), eventCommands(), graphCommands(), routeCommands(), meidCommands(), messageCommands(), traceCommands(), historyCommands(), topCommands(), nodeCommands(), settingCommands(), backupCommands(), recoverCommands(), clusterCommands(), importCommands(), certCommands(), tokenCommands(), keyCommands(), shellCommands(), programCommands()} {
		all = append(all, family...)
	}
	return all
}

func everyArg(int) bool   { return true }
func firstArg(i int) bool { return i == 0 }
func twoArgs(i int) bool  { return i < 2 }
func laterArg(i int) bool { return i > 0 }

// addrOfOne is the help of --addr where it names one node.
const addrOfOne = "`HOST:PORT` of the node's HTTP listener"

// addFlags adds the flags of a command; with shared also those about how to
// reach a node, which the shell has from its own start.
func (c *command) addFlags(flags *pflag.FlagSet, shared bool) {
	if c.flags != nil {
		c.flags(flags)
	}
	if c.prints {
		flags.Bool("json", false, "print JSON")
	}
	if c.local {
		return
	}
	if c.reads {
		flags.Bool("stale", false, "answer from the node's own copy, with or without quorum; a line on stderr says how old it is")
	}
	if shared {
		help := "`HOST:PORT[,...]` of the HTTP listeners of nodes, tried in turn; https:// or http:// may stand before"
		if c.one {
			help = addrOfOne
		}
		flags.Var(newNodes("127.0.0.1:7480"), "addr", help)
		flags.Var(newText(""), "token-file", "`FILE` with your token, where rights come from one; FLOE_TOKEN holds the token itself")
		flags.Var(newText(""), "tls-ca", "`FILE` with the authority of the cluster; with it nodes are asked over TLS")
		flags.Var(newText(""), "tls-cert", "`FILE` with your certificate, where rights come from one")
		flags.Var(newText(""), "tls-key", "`FILE` with the key of --tls-cert")
		flags.Var(newDuration(timeoutFor(c)), "timeout", "how long to wait for an answer, such as 5s")
	}
}
