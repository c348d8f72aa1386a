package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/transport/http/api"
)

// wsPort is where nodes listen for ws that are started with `--ice-ws :10001`.
const wsPort = "10001"

// startNode starts a cluster of one node and waits until it is ready.
func startNode(t testing.TB, flags ...string) *floetest.Node {
	t.Helper()
	n := floetest.NewNode(t, "n1", flags...)
	n.Start()
	n.WaitReady()
	return n
}

// startThree starts a cluster of three voters and waits until each names the endpoints of all in its proxies.
func startThree(t testing.TB, flags ...string) *floetest.Cluster {
	t.Helper()
	c := floetest.NewCluster(t, 3, append([]string{"--bootstrap-expect", "3"}, flags...)...)
	restart(t, c)
	return c
}

// restart starts all nodes of a cluster that don't run, and waits until every node knows where all of them are.
func restart(t testing.TB, c *floetest.Cluster) {
	t.Helper()
	c.Restart()
	c.WaitVoters(len(c.Nodes))
	for _, n := range c.Running() {
		n.WaitStatus("knows all addresses", func(s api.Status) bool { return knowsAll(s, c.Running()) })
	}
}

// moveAll gives every node, none of which may run, another address.
func moveAll(c *floetest.Cluster) {
	for _, n := range c.Nodes {
		n.Move()
	}
}

func knowsAll(s api.Status, nodes []*floetest.Node) bool {
	for _, n := range nodes {
		i := slices.IndexFunc(s.Members, func(m api.Member) bool { return m.ID == n.ID })
		if i < 0 || s.Members[i].Address != n.Peer() || !strings.Contains(strings.Join(s.Members[i].Addresses["ice"], " "), " "+n.IP+" ") {
			return false
		}
	}
	return true
}

// service is a node, or several as one, as Ice clients are told of it.
func service(nodes ...*floetest.Node) peers.Service {
	s := peers.Service{Manager: "IceStorm/TopicManager"}
	for _, n := range nodes {
		s.Manager += ":" + endpoint("tcp", n.IP, floetest.IcePort)
	}
	if slices.Contains(nodes[0].Flags, "--ice-ws") {
		s.WS = "IceStorm/TopicManager:" + endpoint("ws", nodes[0].IP, wsPort)
	}
	return s
}

func endpoint(transport, ip, port string) string {
	return fmt.Sprintf("%s -h %s -p %s", transport, ip, port)
}

// admin has the stock icestormadmin run commands that have to succeed, and returns what they print.
func admin(t testing.TB, s peers.Service, commands ...string) string {
	t.Helper()
	stdout, stderr, exit := peers.Admin(t, s.Manager, append(slices.Clone(s.Properties), commands...)...)
	if exit != 0 || stderr != "" {
		t.Fatalf("icestormadmin %q: exit %d: %s%s", commands, exit, stdout, stderr)
	}
	return stdout
}

// call has icepeer make a call that has to succeed, and returns the lines it prints.
func call(t testing.TB, s peers.Service, words ...string) []string {
	t.Helper()
	lines, exit := peers.Call(t, s, words...)
	if exit != 0 {
		t.Fatalf("%q: %q", words, lines)
	}
	return lines
}

// answer is what a call that prints one line `WORD REST` says behind the word.
func answer(t testing.TB, lines []string, word string) string {
	t.Helper()
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			return rest
		}
	}
	t.Fatalf("no line %s in %q", word, lines)
	return ""
}

// list reads a list that the command prints as JSON.
func list[T any](n *floetest.Node, t testing.TB, command ...string) []T {
	t.Helper()
	var out []T
	if err := json.Unmarshal([]byte(n.Must(append(command, "--json")...)), &out); err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return out
}

// copyOf reads a list of the node's own copy from its HTTP API, which starts no program.
func copyOf[T any](n *floetest.Node, path string) ([]T, error) {
	code, body := floetest.Get(n.HTTP(), path+"?stale=1")
	if code != 200 {
		return nil, errors.New(body)
	}
	var out []T
	err := json.Unmarshal([]byte(body), &out)
	return out, err
}

// subscribersOf returns the identities of a topic's subscribers, links left out, in the node's own copy.
func subscribersOf(n *floetest.Node, topic string) ([]string, error) {
	all, err := copyOf[api.Subscriber](n, "/v1/subscribers")
	out := []string{}
	for _, s := range all {
		if s.Topic == topic && !s.Link {
			out = append(out, s.Identity)
		}
	}
	return out, err
}

// waitSubscribers waits until the topic has exactly those subscribers in the copy of every node.
func waitSubscribers(t testing.TB, nodes []*floetest.Node, topic string, want ...string) {
	t.Helper()
	for _, n := range nodes {
		floetest.Eventually(t, floetest.Patience, func() error {
			got, err := subscribersOf(n, topic)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("%s: subscribers of %s: got %q, want %q", n.ID, topic, got, want)
			}
			return err
		})
	}
}

// metric sums up the samples of a family that have all the labels, each written `name="value"`.
func metric(n *floetest.Node, family string, labels ...string) (float64, error) {
	code, body := floetest.Get(n.HTTP(), "/metrics")
	if code != 200 {
		return 0, errors.New(body)
	}
	sum := 0.0
	for line := range strings.Lines(body) {
		sum += sampleOf(strings.TrimSpace(line), family, labels)
	}
	return sum, nil
}

func sampleOf(line, family string, labels []string) float64 {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 || line[:i] != family && !strings.HasPrefix(line, family+"{") {
		return 0
	}
	for _, l := range labels {
		if !strings.Contains(line[:i], l) {
			return 0
		}
	}
	v, _ := strconv.ParseFloat(line[i+1:], 64) // the format is the metrics' own test
	return v
}

// mustMetric is metric of a node that answers.
func mustMetric(t testing.TB, n *floetest.Node, family string, labels ...string) float64 {
	t.Helper()
	v, err := metric(n, family, labels...)
	if err != nil {
		t.Fatalf("%s: %s: %v", n.ID, family, err)
	}
	return v
}

// waitMetric waits until a figure pleases.
func waitMetric(t testing.TB, n *floetest.Node, ok func(float64) bool, family string, labels ...string) {
	t.Helper()
	floetest.Eventually(t, floetest.Patience, func() error {
		v, err := metric(n, family, labels...)
		if err == nil && !ok(v) {
			err = fmt.Errorf("%s: %s%q is %v", n.ID, family, labels, v)
		}
		return err
	})
}

// costs are the costs of events as they stand, "-" where an event has none.
func costs(events []peers.Event) []string {
	out := []string{}
	for _, e := range events {
		out = append(out, e.Cost)
	}
	return out
}

// seqs are the numbers of events.
func seqs(events []peers.Event) []int {
	out := []int{}
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

// took measures a step.
func took(step func()) time.Duration {
	begun := time.Now()
	step()
	return time.Since(begun)
}

// freePort is a port of 127.0.0.1 for a peer that comes back at the same place.
func freePort(t testing.TB) string { return strconv.Itoa(peers.FreePort(t, "127.0.0.1")) }

// silentHost returns an address where connections are neither made nor refused, as behind a firewall that drops
// packets: a listener whose queue of connections is full and stays so.
func silentHost(t testing.TB) (host string, port string) {
	t.Helper()
	address, fill := fullListener(t)
	for range 16 {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			host, port, err = net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			return host, port
		}
		fill(c)
	}
	t.Fatal("a listener with a full queue still takes connections")
	return "", ""
}
