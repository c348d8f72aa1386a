package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const startHelp = `Start a node. The first start of a node alone founds a cluster of one; with
--join it enters the cluster that is found there, and with --bootstrap-expect N
as well, N fresh nodes found one together. Later starts take up what the data
directory says.

A listener is HOST:PORT, :PORT (the host is that of --bind) or off. Listeners
beyond this machine are refused unless you say who may use them: --allow-from
for plain Ice, RMR and --metrics, certificates (--tls-cert, --tls-key, --tls-ca; floe
cert makes them) or --insecure for the peer and HTTP ports.

What it listens on, where its data is and how to stop it is printed first: in
colour on a terminal unless NO_COLOR is set, with --log-format json as one line of
JSON.

SIGTERM or Ctrl-C stops the node: it delivers what is queued, within
--stop-timeout, and says how much was left.`

func startCommands() []*command {
	return []*command{
		{name: "start", args: "", min: 0, max: 0, local: true,
			short:   "start a node",
			long:    startHelp,
			flags:   startFlags,
			example: "floe start\nfloe start --bind 127.0.0.2 --data n2 --join 127.0.0.1:7400",
			run:     runStart},
	}
}

// setting is one flag of floe start.
type setting struct {
	name, help string
	value      pflag.Value
	// bare is the value of a flag without one; "": it needs one.
	bare string
}

// startSettings lists the flags of floe start with their defaults.
func startSettings() []setting {
	return []setting{
		{name: "data", value: newText("./floe-data"), help: "`DIR` that holds everything; made if missing"},
		{name: "id", value: newText(""), help: "the node's `ID`, for good; made up at the first start if not given"},
		{name: "bind", value: newText("127.0.0.1"), help: "`IP` of all listeners that name no host"},
		{name: "advertise", value: newText(""), help: "`IP` that others are told, if not the one listened on"},
		{name: "peer", value: newListener("7400"), help: "listener for other nodes, tcp and udp"},
		{name: "ice", value: newListeners("10000"), help: "listeners for Ice, tcp and udp; a list may be given"},
		{name: "ice-ssl", value: newListener("off"), help: "listener for Ice over ssl"},
		{name: "ice-ws", value: newListener("off"), help: "listener for Ice over WebSocket"},
		{name: "ice-wss", value: newListener("off"), help: "listener for Ice over WebSocket and ssl"},
		{name: "http", value: newListener("7480"), help: "listener for the API, /metrics, /healthz and /readyz"},
		{name: "metrics", value: newListener("off"), help: "listener for /metrics, /healthz and /readyz alone, always in the clear"},
		{name: "ice-published", value: newText(""), help: "`HOST[:PORT]` or Ice endpoints that Ice clients are told"},
		{name: "allow-from", value: newPrefixes(""), help: "`CIDR[,...]` that may use plain Ice, RMR and --metrics beyond this machine"},
		{name: "clusters-ca", value: newText(""), help: "`FILE` with the authorities of other clusters with certificates, to link topics with them"},
		{name: "ice-allow", value: newText(""), help: "`RULES` who may do what over Ice: read, publish, subscribe or change=any, none, CIDR, cert or cert:NAME; ..."},
		{name: "insecure", value: newNames("", "peer", "http"), bare: "peer,http", help: "peer, http or peer,http: which may listen beyond this machine without certificates; bare: both"},
		{name: "non-voter", value: newBool(), bare: "true", help: "follow and forward, without a vote (first start)"},
		{name: "join", value: newAddresses(""), help: "`HOST:PORT[,...]` peer addresses of nodes of the cluster"},
		{name: "join-token", value: newText(""), help: "`TOKEN` that floe token join made in that cluster, if it needs one (first start)"},
		{name: "bootstrap-expect", value: newNumber(0, 0, 99), help: "with --join: how many fresh nodes found a cluster together (first start)"},
		{name: "flush-interval", value: newDuration(time.Second), help: "how long events of batch subscribers are gathered"},
		{name: "discard-interval", value: newDuration(time.Minute), help: "how long one outage of a subscriber counts once"},
		{name: "send-timeout", value: newDuration(time.Minute), help: "how long a subscriber may take nothing"},
		{name: "queue-events", value: newNumber(10_000, 1, 100_000_000), help: "bound of each subscriber's queue, in events"},
		{name: "queue-bytes", value: newSize("16MiB"), help: "bound of each subscriber's queue, in bytes"},
		{name: "queue-policy", value: newChoice("drop-oldest", "drop-oldest", "remove-subscriber"), help: "what happens when a queue is full"},
		{name: "message-size-max", value: newSize("1MiB"), help: "largest Ice message"},
		{name: "timing", value: newChoice("lan", "lan", "fast", "wan"), help: "how fast a lost leader is noticed"},
		{name: "disk-stall", value: newDuration(5 * time.Second), help: "how long a disk operation may take before the node falls silent in Raft, and others elect"},
		{name: "on-storage-error", value: newChoice("stay", "stay", "exit"), help: "stay: deliver from memory after an error of the disk; exit: end with code 6"},
		{name: "snapshot-threshold", value: newNumber(8192, 1, 1<<40), help: "log entries that make a snapshot worth while"},
		{name: "snapshot-interval", value: newDuration(2 * time.Minute), help: "how often --snapshot-threshold is looked at"},
		{name: "auto-remove", value: newOffOrLonger(time.Minute), help: "off, or after how long (1m at least) a silent node is removed"},
		{name: "auto-remove-min", value: newNumber(3, 1, 99), help: "voters that stay whatever --auto-remove says"},
		{name: "ice-instance", value: newText("IceStorm"), help: "category of the Ice identities (first start of a cluster)"},
		{name: "ice-locator", value: newText(""), help: "`PROXY` of a locator that resolves indirect proxies"},
		{name: "ice-adapter-id", value: newText(""), help: "`ID[/REPLICAGROUP]` to register at the locator's registry"},
		{name: "ice-config", value: newText(""), help: "`FILE` with properties of an IceStorm service; flags, environment and --config count more"},
		{name: "rmr", value: newListener("4560"), help: "listener for RMR messages that floe is to route"},
		{name: "rmr-topics", value: newListener("4563"), help: "listener for RMR messages to topics"},
		{name: "rmr-allow", value: newText(""), help: "`RULES` from where RMR messages of which types may come to --rmr and --rmr-topics: 12010-12099,20000 or *=any, none, address or CIDR; ..."},
		{name: "rtg", value: newListener("4561"), help: "listener of the Route Manager: where RMR apps ask for route tables (RMR_RTG_SVC)"},
		{name: "nbi", value: newListener("off"), help: "listener for the REST calls of an old route manager; its port was 3800"},
		{name: "nbi-config", value: newText(""), help: "`FILE` of an old route manager: message types, platform routes, components, and where its managers are"},
		{name: "rmr-published", value: newText(""), help: "`HOST[:PORT]` that tables name for --rmr; the host also for --rmr-topics"},
		{name: "rtg-published", value: newText(""), help: "`HOST[:PORT]` at which RMR apps reach --rtg, for people"},
		{name: "seed-routes", value: newText(""), help: "`FILE` with routes for a cluster that never had any; also FLOE_SEED_RT"},
		{name: "probe", value: newBool(), bare: "true", help: "connect to members of groups and withdraw those that two nodes find dead"},
		{name: "refuse-reserved", value: newBool(), bare: "true", help: "refuse routes for message types 0 to 99, which RMR keeps for itself"},
		{name: "rtg-chunk", value: newSize("16MiB"), help: "largest part of a route table that is sent in one message; 4KiB for RMR apps older than 3.8"},
		{name: "app-expire", value: newDuration(24 * time.Hour), help: "after how long a silent RMR app is forgotten"},
		{name: "log-level", value: newChoice("info", "trace", "debug", "info", "warn", "error"), help: "trace, debug, info, warn or error"},
		{name: "log-format", value: newChoice("text", "text", "json"), help: "text or json"},
		{name: "tls-cert", value: newText(""), help: "`FILE` with the node's certificate, which names its cluster and id: --peer and --http speak TLS then"},
		{name: "tls-key", value: newText(""), help: "`FILE` with the key of --tls-cert"},
		{name: "tls-ca", value: newText(""), help: "`FILE` with the authority of the cluster's certificates, or several"},
		{name: "ice-tls-cert", value: newText(""), help: "`FILE` with a certificate for Ice, if not that of --tls-cert"},
		{name: "ice-tls-key", value: newText(""), help: "`FILE` with the key of --ice-tls-cert"},
		{name: "ice-tls-ca", value: newText(""), help: "`FILE` with the authorities of subscribers over ssl, if not --tls-ca"},
		{name: "gossip-key-file", value: newText(""), help: "`FILE` with the secret of the gossip, in base64; FLOE_GOSSIP_KEY holds the secret itself"},
		{name: "stop-timeout", value: newDuration(10 * time.Second), help: "how long a clean stop may take"},
	}
}

func startFlags(flags *pflag.FlagSet) {
	for _, s := range startSettings() {
		flags.Var(s.value, s.name, s.help)
		flags.Lookup(s.name).NoOptDefVal = s.bare
	}
}

// runStart runs a node until ctx ends.
func runStart(ctx context.Context, s *session, c *call) error {
	notes, err := useIceConfig(c.flags)
	if err != nil {
		return err
	}
	o, err := readOptions(c.flags)
	if err != nil {
		return err
	}
	o.stdio = s.stdio
	paceCollector(os.Getenv)
	n, err := build(o)
	if err != nil {
		return err
	}
	logNotes(n.log, c.text("ice-config"), notes)
	s.json = c.text("log-format") == "json"
	started := startedOf(n)
	if err := s.sayStarted(started); err != nil {
		return err
	}
	left, err := n.run(ctx)
	if said := s.sayStopped(left); err == nil {
		err = said
	}
	return err
}

// started is what a person, or a program that reads the log, wants to know
// first.
type started struct {
	Version   string            `json:"version"`
	Node      string            `json:"node"`
	Data      string            `json:"data"`
	Listeners map[string]string `json:"listeners"`
	// Status is the command that says how the node is; "" where its HTTP
	// listener is off.
	Status string `json:"status,omitempty"`
	Stop   string `json:"stop"`
}

func startedOf(n *node) started {
	st := started{Version: programVersion(), Node: n.cluster.ID(), Data: n.options.text("data"), Listeners: map[string]string{}, Stop: "Ctrl-C or SIGTERM"}
	for _, name := range listenerNames {
		if at := n.listening[name]; at != "" {
			st.Listeners[name] = at
		}
	}
	if told := n.sockets.published["http"]; len(told) > 0 {
		st.Status = "floe status --addr " + told[0]
		if n.httpTLS() != nil {
			st.Status += " --tls-ca " + n.options.text("tls-ca")
		}
	}
	return st
}

// sayStarted says it: in colour on a terminal, as one line of JSON where the
// log is JSON, else in plain lines.
func (s *session) sayStarted(st started) error {
	if s.json {
		return s.printLine(st)
	}
	bold, blue, green := s.paint("1"), s.paint("36"), s.paint("32")
	s.say("floe %s, node %s", st.Version, bold(st.Node))
	s.say("data in %s", blue(st.Data))
	for _, name := range listenerNames {
		if at := st.Listeners[name]; at != "" {
			s.say("listening for %-10s %s", name, blue(at))
		}
	}
	if st.Status != "" {
		s.say("%s says how it is", green(st.Status))
	}
	s.say("stop with %s", bold(st.Stop))
	return nil
}

// sayStopped says how much was left undelivered.
func (s *session) sayStopped(left int) error {
	switch {
	case s.json:
		return s.printLine(struct {
			Stopped     bool `json:"stopped"`
			Undelivered int  `json:"undelivered"`
		}{true, left})
	case left == 0:
		s.say("stopped; no event was left undelivered")
	case left == 1:
		s.say("stopped; 1 event was left undelivered")
	default:
		s.say("stopped; %d events were left undelivered", left)
	}
	return nil
}

func firstOf(list string) string {
	first, _, _ := strings.Cut(list, " ")
	return first
}

// listenerNames are the listeners in the order they are shown.
var listenerNames = []string{"peer", "ice", "ice-ssl", "ice-ws", "ice-wss", "rmr", "rmr-topics", "rtg", "nbi", "http", "metrics"}

// options are the settings of one start.
type options struct {
	flags *pflag.FlagSet
	listenOptions
	stdio // the log goes to err
}

func (o *options) text(name string) string { return o.flags.Lookup(name).Value.String() }

func (o *options) number(name string) int {
	n := 0
	_, _ = fmt.Sscan(o.text(name), &n) // checked when it was set
	return n
}

func (o *options) duration(name string) time.Duration {
	d, _ := time.ParseDuration(o.text(name)) // checked when it was set
	return d
}

func (o *options) size(name string) int {
	n, _ := parseSize(o.text(name)) // checked when it was set
	return int(n)
}

func (o *options) list(name string) []string {
	if o.text(name) == "" {
		return nil
	}
	return strings.Split(o.text(name), ",")
}
