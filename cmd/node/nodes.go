package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
	"floe/transport/http/client"
)

func nodeCommands() []*command {
	return []*command{
		{name: "status", args: "", min: 0, max: 0, prints: true, reads: true, shell: true,
			short:   "show the state of the cluster and what is wrong, also without a leader",
			example: "floe status\nfloe status --json",
			run:     runStatus},
		{name: "members", args: "", min: 0, max: 0, prints: true, reads: true, shell: true,
			short:   "list the nodes of the cluster, also without a leader",
			example: "floe members --addr 127.0.0.2:7480,127.0.0.3:7480",
			run:     runMembers},
		{name: "join", args: "HOST:PORT", min: 1, max: 1, prints: true, one: true,
			short: "have the node at --addr enter a cluster",
			long: `Have the node at --addr enter the cluster of the node whose peer address is
HOST:PORT. It is for a node that left or was removed, or for a one-node cluster
in which nobody changed anything.`,
			flags:   joinTokenFlag,
			example: "floe join 10.0.0.1:7400",
			run:     runJoin},
		{name: "leave", args: "", min: 0, max: 0, prints: true, one: true,
			short: "have the node at --addr leave its cluster; its data stays",
			long: `Have the node at --addr leave its cluster. It hands leadership over, leaves,
delivers what is queued and ends; the command waits for that. Its data stays:
started again it idles until floe join takes it to a cluster. The last node of
a cluster can't leave.`,
			example: "floe leave --addr 10.0.0.3:7480",
			run:     runLeave},
		{name: "remove", args: "ID", node: firstArg, min: 1, max: 1, prints: true,
			short: "remove a node from the cluster",
			long: `Remove a node from the cluster, whether it runs or not. One that runs goes on and
idles until floe join takes it to a cluster. Where too few voters would be left
alive this is refused, as those left could not agree on it.`,
			flags: func(f *pflag.FlagSet) {
				f.Bool("force", false, "wait longer (3s) for the voters that are left to answer")
			},
			example: "floe remove n3",
			run:     runRemove},
		{name: "transfer", args: "[ID]", node: firstArg, min: 0, max: 1, prints: true,
			short:   "hand leadership over, to a node if one is named",
			example: "floe transfer n2",
			run:     runTransfer},
		{name: "drain", args: "", min: 0, max: 0, prints: true, one: true,
			short: "have the node at --addr let go of its work; it stays a member",
			long: `Have the node at --addr hand over leadership, close its Ice connections
gracefully and wait until its queues are empty. It stays a member, and takes no
new Ice connections until --undo; members and status show it as draining.`,
			flags:   func(f *pflag.FlagSet) { f.Bool("undo", false, "take part again") },
			example: "floe drain\nfloe drain --undo",
			run:     runDrain},
	}
}

func joinTokenFlag(f *pflag.FlagSet) {
	f.Var(newText(""), "join-token", "`TOKEN` that floe token join made in that cluster, if it needs one")
}

func runStatus(ctx context.Context, s *session, _ *call) error {
	st, err := s.client.Status(ctx)
	if err != nil {
		return err
	}
	return s.print(st, func() { s.sayStatus(st) })
}

func (s *session) sayStatus(st api.Status) {
	leader := st.Leader
	if leader == "" {
		leader = "none"
	}
	s.say("cluster    %s", st.ClusterID)
	s.say("node       %s (%s)", st.Node, roleText(st.Role, draining(st)))
	s.say("leader     %s in term %d", leader, st.Term)
	s.say("applied    %d, digest %s", st.AppliedIndex, st.Digest)
	s.say("topics     %d", st.Topics)
	s.say("data       %s", st.Data)
	if c := st.Certificate; c != nil {
		s.say("tls        node %s of %s until %s, authority until %s", c.Node, c.Cluster, c.Ends.Format(time.DateOnly), c.AuthorityEnds.Format(time.DateOnly))
	}
	for _, name := range listenerNames {
		if at := st.Listeners[name]; at != "" {
			s.say("%-10s %s%s", name, at, plainText(st.Plain, name))
		}
	}
	if st.IceAllow != "" {
		s.say("%-10s %s", "ice-allow", st.IceAllow)
	}
	if st.RMRAllow != "" {
		s.say("%-10s %s", "rmr-allow", st.RMRAllow)
	}
	s.say("")
	s.sayNodes(st)
	if len(st.Problems) == 0 {
		return
	}
	s.say("\nproblems:")
	for _, p := range st.Problems {
		s.say("  %s", p)
	}
}

// plainText says of a listener in the clear who may use it.
func plainText(plain map[string][]string, name string) string {
	ranges, is := plain[name]
	switch {
	case !is:
		return ""
	case len(ranges) == 0:
		return "  plain, this machine only"
	case slices.Contains(ranges, "0.0.0.0/0"):
		return "  plain, anybody"
	}
	return "  plain, this machine and " + strings.Join(ranges, ", ")
}

func runMembers(ctx context.Context, s *session, _ *call) error {
	all, err := s.client.Members(ctx)
	if err != nil {
		return err
	}
	return s.print(all, func() { s.sayMembers(all) })
}

func (s *session) sayMembers(all []api.Member) {
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tADDRESS\tROLE\tVOTER\tVERSION")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\n", m.ID, m.Address, roleText(m.Role, m.Draining), m.Voter, m.Version)
	}
	_ = w.Flush() // stdout is gone if this fails
}

func roleText(role string, draining bool) string {
	if draining {
		return role + ", draining"
	}
	return role
}

// draining tells whether the node that answers is.
func draining(st api.Status) bool {
	return slices.ContainsFunc(st.Members, func(m api.Member) bool { return m.ID == st.Node && m.Draining })
}

func runJoin(ctx context.Context, s *session, c *call) error {
	addresses := newAddresses("")
	if err := addresses.Set(c.args[0]); err != nil {
		return usagef("`join': %v", err)
	}
	done, err := s.client.Join(ctx, strings.Split(addresses.text, ","), c.text("join-token"))
	return s.done(done, err)
}

func runLeave(ctx context.Context, s *session, _ *call) error {
	st, err := s.client.Status(ctx)
	if err != nil {
		return err
	}
	done, err := s.client.Leave(ctx)
	if err == nil && !awaitClosed(ctx, portsOf(s.config.Addresses[0], st.Listeners), endTime) {
		fmt.Fprintf(s.err, "the node left, but its process has not ended within %s\n", endTime)
	}
	return s.done(done, err)
}

// endTime bounds the wait for the process of a node that left. It delivers
// what is queued first.
const endTime = 10 * time.Second

// portsOf returns where the listeners for HTTP and for other nodes, which is
// the last to close, are reached by who reaches HTTP at the address.
func portsOf(address string, listeners map[string]string) []string {
	_, address = client.SplitAddress(address)
	at := []string{address}
	host, _, err := net.SplitHostPort(address)
	bound, _, _ := net.SplitHostPort(firstOf(listeners["http"]))
	peerHost, port, peerErr := net.SplitHostPort(listeners["peer"])
	if err != nil || peerErr != nil {
		return at
	}
	if ip := net.ParseIP(peerHost); peerHost == bound || ip != nil && ip.IsUnspecified() {
		at = append(at, net.JoinHostPort(host, port))
	}
	return at
}

// awaitClosed waits until nobody listens at the addresses any more, and tells
// whether it saw that within the time.
func awaitClosed(ctx context.Context, addresses []string, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var dialer net.Dialer
	for len(addresses) > 0 {
		c, err := dialer.DialContext(ctx, "tcp", addresses[0])
		if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) { // the dialler may notice the limit first
			return false
		}
		if err != nil {
			addresses = addresses[1:]
			continue
		}
		_ = c.Close() // only knocked
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return true
}

func runRemove(ctx context.Context, s *session, c *call) error {
	if c.args[0] == "" {
		return usagef("`remove' needs the id of a node")
	}
	done, err := s.client.Remove(ctx, c.args[0], c.bool("force"))
	return s.done(done, err)
}

func runTransfer(ctx context.Context, s *session, c *call) error {
	id := ""
	if len(c.args) == 1 {
		id = c.args[0]
		if id == "" {
			return usagef("`transfer' needs the id of a node, or nothing")
		}
	}
	done, err := s.client.Transfer(ctx, id)
	return s.done(done, err)
}

func runDrain(ctx context.Context, s *session, c *call) error {
	done, err := s.client.Drain(ctx, c.bool("undo"))
	return s.done(done, err)
}

func (s *session) done(d api.Done, err error) error {
	if err != nil {
		return err
	}
	return s.print(d, func() { s.say("%s", d.Message) })
}
