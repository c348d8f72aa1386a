package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"floe/cluster"
	"floe/transport/http/api"
)

func recoverCommands() []*command {
	return []*command{
		{name: "recover", args: "", min: 0, max: 0, prints: true, local: true,
			short: "bring a cluster back from the data of a stopped node",
			long: `Work on the data of a node that does not run, after what a majority does not help
against.

With --members: a majority is lost for good, and this node has survived. Prints
what may be lost, and on --yes, or a yes typed on a terminal, makes the node's data
that of a cluster of the members named alone. The node itself has to be among them;
where others survived, too, name all of them and run the same command on each
before any of them is started. What the files were before is kept beside them. The
nodes that are not named never come back with the data they have: started again,
they are told so and idle.

With --skip: every node stops applying before one entry of the log, which status
names. Passes over that entry for good. It has to be done on every node before any
of them is started.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newText(""), "data", "the node's data directory (needed)")
				f.Var(newText(""), "members", "`ID=HOST:PORT[,...]`: the nodes that are left, with their peer addresses")
				f.Bool("yes", false, "do it without asking")
				f.Var(newNumber(0, 1, math.MaxInt64), "skip", "`INDEX` of an entry that can't be applied")
			},
			example: "floe recover --data floe-data --members n1=10.0.0.1:7400\nfloe recover --data floe-data --skip 4711", needs: "a node that lost its majority, an entry that can't be applied",
			run: runRecover},
	}
}

func runRecover(ctx context.Context, s *session, c *call) error {
	if err := c.needFlags("recover", "data"); err != nil {
		return err
	}
	switch members, skip := c.flags.Changed("members"), c.flags.Changed("skip"); {
	case members == skip:
		return usagef("`recover' needs either --members or --skip")
	case skip:
		return runSkip(s, c)
	}
	members, err := cluster.ParseMembers(c.text("members"))
	if err != nil {
		return usagef("--members: %v; nothing was changed", err)
	}
	r, err := cluster.OpenRecovery(c.text("data"), members, nil)
	if err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	defer r.Close()
	if !s.json {
		s.sayRecovery(r)
	}
	if err := s.consent(ctx, c); err != nil {
		return err
	}
	saved, err := r.Recover(time.Now())
	if err != nil {
		return err
	}
	done := recoveryDone{r, saved}
	return s.print(done, func() {
		s.say("recovered; the files as they were are in %s", saved)
		s.say("start the node as ever; new nodes join through it with an empty data directory and --join %s", addressOf(members, r.Node))
	})
}

// recoveryDone is what floe recover --json prints.
type recoveryDone struct {
	*cluster.Recovery
	Saved string `json:"saved"`
}

func addressOf(members []cluster.RecoveredMember, id string) string {
	for _, m := range members {
		if m.ID == id {
			return m.Address
		}
	}
	return ""
}

// sayRecovery says what there is, and what may be lost.
func (s *session) sayRecovery(r *cluster.Recovery) {
	s.say("node      %s, data in %s", r.Node, r.Dir)
	s.say("cluster   %s, voters %s", r.ClusterID, strings.Join(r.Voters, ", "))
	made := ""
	if r.LastTime != "" {
		made = ", made " + r.LastTime
	}
	s.say("last      entry %d in term %d%s", r.Last, r.Term, made)
	s.say("content   %s, %s, %s, digest %s", api.Plural(r.Topics, "topic"), api.Plural(r.Routes, "route"), api.Plural(r.MEIDs, "MEID"), r.Digest)
	s.say("")
	s.say("entries up to %d are known to be committed", r.Committed)
	if more := r.Last - min(r.Committed, r.Last); more > 0 {
		s.say("the %d after that are kept; they may be changes that nobody was told were made", more)
	}
	s.say("lost is what the others acknowledged after entry %d without this node, and nobody can tell from here what that is", r.Last)
	s.say("")
	var list, others []string
	for _, m := range r.Members {
		list = append(list, m.ID+" at "+m.Address)
		if m.ID != r.Node {
			others = append(others, m.ID)
		}
	}
	s.say("voters will be %s", strings.Join(list, ", "))
	if len(others) > 0 {
		s.say("run the same command on %s, too, before any of them is started", strings.Join(others, ", "))
	}
	if len(r.Gone) > 0 {
		s.say("%s will be members no more, whatever their disks hold", strings.Join(r.Gone, ", "))
	}
}

var errNoConsent = errors.New("nothing was changed; add --yes to go on")

// consent asks on a terminal, and elsewhere takes --yes only.
func (s *session) consent(ctx context.Context, c *call) error {
	if c.bool("yes") {
		return nil
	}
	if s.json || !isTerminal(s.in) {
		return errNoConsent
	}
	fmt.Fprint(s.err, "type yes to go on: ")
	line, err := bufio.NewReader(s.in).ReadString('\n')
	if ctx.Err() != nil || err != nil || strings.TrimSpace(line) != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// skipped is what floe recover --skip --json prints.
type skipped struct {
	Node  string `json:"node"`
	Index uint64 `json:"index"`
	Saved string `json:"saved"`
}

func runSkip(s *session, c *call) error {
	index, _ := strconv.ParseUint(c.text("skip"), 10, 64) // checked when it was set
	done, err := cluster.Skip(c.text("data"), index)
	if err != nil {
		return err
	}
	return s.print(skipped{done.Node, done.Index, done.Copy}, func() {
		if done.Copy == "" {
			s.say("node %s passes over entry %d already", done.Node, done.Index)
			return
		}
		s.say("node %s passes over entry %d from now on; what it said is in %s", done.Node, done.Index, done.Copy)
		s.say("do the same on every other node before any of them is started")
	})
}
