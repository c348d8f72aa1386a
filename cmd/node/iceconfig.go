package main

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"floe/transport/ice/icestorm"
	"floe/transport/ice/proto"
)

// iceConfig carries the properties of an IceStorm over to flags.
type iceConfig struct {
	file  string
	props icestorm.Properties
	flags *pflag.FlagSet
	notes []iceNote
	err   error // the first
}

// iceNote is a line for the log about a property.
type iceNote struct {
	level    hclog.Level
	property string
	text     string
}

// useIceConfig gives flags that nobody set the values of the properties file
// that --ice-config names, and returns what is to be said about it.
func useIceConfig(flags *pflag.FlagSet) ([]iceNote, error) {
	path := flags.Lookup("ice-config").Value.String()
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--ice-config: %v", err)
	}
	props, err := icestorm.ParseProperties(text)
	if err != nil {
		return nil, usagef("--ice-config %s: %v", path, err)
	}
	c := &iceConfig{file: path, props: props, flags: flags}
	if len(props.Own()) == 0 && props.Elsewhere != "" {
		return nil, usagef("--ice-config %s: the properties of service %s are in %s: give that file", path, props.Service, props.Elsewhere)
	}
	for _, name := range props.Own() {
		c.use(name)
	}
	c.useListeners()
	c.useQueues()
	c.useGlobals()
	return c.notes, c.err
}

func logNotes(log hclog.Logger, file string, notes []iceNote) {
	for _, n := range notes {
		log.Log(n.level, "--ice-config: "+n.text, "property", n.property, "file", file)
	}
}

// idle are properties that floe has no use for, by their beginning, and why.
var idle = []struct{ prefix, why string }{
	{"NodeId", "floe's nodes find each other with --join"},
	{"Nodes.", "floe's nodes find each other with --join"},
	{"Node.", "floe's nodes talk on --peer"},
	{"Election.", "--timing says how fast a lost leader is noticed"},
	{"ReplicatedTopicManagerEndpoints", "proxies name all nodes by themselves"},
	{"ReplicatedPublishEndpoints", "proxies name all nodes by themselves"},
	{"LMDB.", "floe import icestorm takes over what is in the database"},
	{"Trace.", "--log-level says how much is logged"},
}

// use carries one of the service's own properties over.
func (c *iceConfig) use(name string) {
	value := c.props.Get(name)
	if value == "" {
		return
	}
	switch name {
	case "InstanceName":
		c.set("ice-instance", value, name)
	case "Flush.Timeout":
		c.setTime("flush-interval", name, time.Millisecond)
	case "Discard.Interval":
		c.setTime("discard-interval", name, time.Second)
	case "Send.Timeout":
		c.setTime("send-timeout", name, time.Millisecond)
	case "Transient":
		if value != "0" {
			c.note(hclog.Warn, name, "floe keeps topics and subscribers on disk all the same")
		}
	case "TopicManager.AdapterId":
		c.useAdapter(value)
	case "TopicManager.Endpoints", "Publish.Endpoints", "TopicManager.PublishedEndpoints", "Publish.PublishedEndpoints",
		"Send.QueueSizeMax", "Send.QueueSizeMaxPolicy", "TopicManager.ReplicaGroupId": // together, later
	default:
		c.pass(name)
	}
}

// pass says that a property changes nothing.
func (c *iceConfig) pass(name string) {
	for _, i := range idle {
		if strings.HasPrefix(name, i.prefix) {
			c.note(hclog.Info, name, "no use for this property: "+i.why)
			return
		}
	}
	c.note(hclog.Warn, name, "this property is not known and changes nothing")
}

func (c *iceConfig) note(level hclog.Level, name, text string) {
	c.notes = append(c.notes, iceNote{level, c.props.Service + "." + name, text})
}

// set gives a flag a value unless it has one from the command line, the
// environment or --config.
func (c *iceConfig) set(flag, value, property string) {
	f := c.flags.Lookup(flag)
	if f.Changed || c.err != nil {
		return
	}
	c.err = setFlag(c.flags, f, value, fmt.Sprintf("--ice-config %s: %s", c.file, property))
}

// setTime gives a flag a property that counts units of time.
func (c *iceConfig) setTime(flag, name string, unit time.Duration) {
	n, err := strconv.ParseInt(c.props.Get(name), 10, 32)
	switch {
	case err != nil:
		c.note(hclog.Warn, name, "it is no whole number and changes nothing")
	case n <= 0:
		c.note(hclog.Warn, name, fmt.Sprintf("floe needs a time above zero: --%s stays as it is", flag))
	default:
		c.set(flag, (time.Duration(n) * unit).String(), name)
	}
}

func (c *iceConfig) useAdapter(id string) {
	if group := c.props.Get("TopicManager.ReplicaGroupId"); group != "" {
		id += "/" + group
	}
	if c.props.Global("Ice.Default.Locator") != "" || c.flags.Lookup("ice-locator").Changed {
		c.set("ice-adapter-id", id, "TopicManager.AdapterId")
	}
}

// useQueues carries the bound of queues over.
func (c *iceConfig) useQueues() {
	size, policy := c.props.Get("Send.QueueSizeMax"), c.props.Get("Send.QueueSizeMaxPolicy")
	n, err := strconv.ParseInt(size, 10, 32)
	bounded := err == nil && n > 0
	if bounded {
		c.set("queue-events", size, "Send.QueueSizeMax")
	} else if size != "" {
		c.note(hclog.Warn, "Send.QueueSizeMax", "floe's queues always have a bound: --queue-events and --queue-bytes stay as they are")
	}
	switch {
	case policy == "DropEvents":
		c.set("queue-policy", "drop-oldest", "Send.QueueSizeMaxPolicy")
	case policy != "" && policy != "RemoveSubscriber":
		c.note(hclog.Warn, "Send.QueueSizeMaxPolicy", "it is neither RemoveSubscriber nor DropEvents and changes nothing")
	case bounded: // IceStorm's default
		c.set("queue-policy", "remove-subscriber", "Send.QueueSizeMax")
	}
}

// useGlobals carries properties of the whole process over.
func (c *iceConfig) useGlobals() {
	if text := c.props.Global("Ice.MessageSizeMax"); text != "" && text != "0" {
		c.set("message-size-max", text+"KiB", "Ice.MessageSizeMax")
	}
	if text := c.props.Global("Ice.Default.Locator"); text != "" {
		c.set("ice-locator", text, "Ice.Default.Locator")
	}
}

// listenerOf are the flags of Ice's transports; udp comes with tcp.
var listenerOf = map[proto.EndpointType]string{
	proto.EndpointTCP: "ice", proto.EndpointUDP: "ice", proto.EndpointSSL: "ice-ssl", proto.EndpointWS: "ice-ws", proto.EndpointWSS: "ice-wss",
}

// useListeners has floe listen where topic manager and publishers did: each
// of its listeners serves both.
func (c *iceConfig) useListeners() {
	at := map[string][]string{}
	var names, told []string
	for _, adapter := range []string{"TopicManager", "Publish"} {
		property := adapter + ".Endpoints"
		for _, e := range c.endpoints(property) {
			listener, name := c.listener(&e, property)
			if flag := listenerOf[e.Type]; listener != "" && !slices.Contains(at[flag], listener) {
				at[flag] = append(at[flag], listener)
			}
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if text := c.props.Get(adapter + ".PublishedEndpoints"); text != "" && !slices.Contains(told, text) {
			told = append(told, text)
		}
	}
	for _, flag := range []string{"ice", "ice-ssl", "ice-ws", "ice-wss"} {
		if len(at[flag]) > 0 {
			c.set(flag, strings.Join(at[flag], ","), "Endpoints")
		} else if flag == "ice" && len(at) > 0 {
			c.set(flag, "off", "Endpoints")
		}
	}
	switch {
	case len(told) > 0:
		c.set("ice-published", strings.Join(told, ":"), "PublishedEndpoints")
	case len(names) == 1:
		c.set("ice-published", names[0], "Endpoints")
	}
}

// everywhere takes out the host * of an adapter's endpoints: no host means the
// same, and no proxy's endpoint has it.
var everywhere = strings.NewReplacer(`-h "*"`, "", "-h *", "")

// endpoints reads the endpoints of an adapter.
func (c *iceConfig) endpoints(property string) []proto.Endpoint {
	text := c.props.Get(property)
	if text == "" || c.err != nil {
		return nil
	}
	list, err := proto.ParseEndpoints(everywhere.Replace(text))
	if err != nil {
		c.err = usagef("--ice-config %s: %s: %v", c.file, property, err)
	}
	return list
}

// listener is where to listen for an endpoint, and the host name that clients
// are told if it is not the address of a listener. Where Ice listens at all
// addresses floe does so at that of --bind.
func (c *iceConfig) listener(e *proto.Endpoint, property string) (at, name string) {
	if listenerOf[e.Type] == "" || e.Port == 0 {
		c.note(hclog.Warn, property, "no listener for "+e.String()+": it needs a port and tcp, udp, ssl, ws or wss")
		return "", ""
	}
	host, port := e.Host, ":"+strconv.Itoa(int(e.Port))
	if host == "" {
		host = c.props.Global("Ice.Default.Host")
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return netip.AddrPortFrom(ip, uint16(e.Port)).String(), ""
	case host == "":
		return port, ""
	}
	return port, host
}
