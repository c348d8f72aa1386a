package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"floe/cluster"
	"floe/transport/ice"
	"floe/transport/ice/proto"
	"floe/transport/rmr/relay"
)

// listenOptions are the settings about listeners, checked.
type listenOptions struct {
	// at maps a listener's name to the host:port pairs to listen on; none: off.
	at map[string][]string
	// access is who may do what over Ice.
	access ice.Access
	// messages is from where RMR messages of which types may come.
	messages relay.Access
	// allow is who may use plain Ice from beyond this machine.
	allow []netip.Prefix
}

// readOptions checks what one flag alone can't tell.
func readOptions(flags *pflag.FlagSet) (*options, error) {
	o := &options{flags: flags}
	bind, err := netip.ParseAddr(o.text("bind"))
	if err != nil {
		return nil, usagef("--bind %q is not an IP address", o.text("bind"))
	}
	if adv := o.text("advertise"); adv != "" {
		if ip, err := netip.ParseAddr(adv); err != nil || ip.IsUnspecified() {
			return nil, usagef("--advertise %q is not an IP address others can reach", adv)
		}
	}
	o.at = map[string][]string{}
	for _, name := range listenerNames {
		if o.at[name], err = listenAt(o.text(name), bind); err != nil {
			return nil, usagef("--%s: %v", name, err)
		}
	}
	if text := o.text("allow-from"); text != "" {
		o.allow, _ = parsePrefixes(text) // checked when it was set
	}
	if o.access, err = ice.ParseAccess(o.text("ice-allow")); err != nil {
		return nil, usagef("--ice-allow: %v", err)
	}
	if o.messages, err = relay.ParseAccess(o.text("rmr-allow")); err != nil {
		return nil, usagef("--rmr-allow: %v", err)
	}
	if err := cluster.CheckID(o.text("id")); err != nil {
		return nil, usagef("--id: %v", err)
	}
	return o, errors.Join(o.checkPeer(), o.checkReach(), o.checkTLS(), o.checkAdapter())
}

// listenAt gives listeners without a host that of --bind.
func listenAt(text string, bind netip.Addr) ([]string, error) {
	if text == "off" {
		return nil, nil
	}
	var out []string
	for _, part := range strings.Split(text, ",") {
		host, port, err := net.SplitHostPort(part)
		if err != nil {
			return nil, err
		}
		if host == "" {
			host = bind.String()
		}
		if host == "localhost" {
			host = "127.0.0.1"
		}
		out = append(out, net.JoinHostPort(host, port))
	}
	return out, nil
}

func (o *options) checkPeer() error {
	if len(o.at["peer"]) != 1 {
		return usagef("--peer: a node needs exactly one listener for other nodes, and it can't be off")
	}
	if o.number("bootstrap-expect") > 0 && o.text("join") == "" {
		return usagef("--bootstrap-expect needs --join, which says where the other nodes are")
	}
	if o.number("bootstrap-expect") == 1 {
		return usagef("--bootstrap-expect 1: one node founds a cluster without it")
	}
	if o.number("bootstrap-expect") > 0 && o.text("non-voter") == "true" {
		return usagef("--bootstrap-expect founds a cluster of voters; a --non-voter joins it later")
	}
	return nil
}

// checkReach refuses listeners beyond this machine that nobody allowed.
func (o *options) checkReach() error {
	insecure := o.list("insecure")
	for _, name := range []string{"peer", "http"} {
		if at := beyond(o.at[name]); at != "" && !o.encrypted(name) && !slices.Contains(insecure, name) {
			return usagef("--%s %s can be reached from other machines: give --tls-cert, --tls-key and --tls-ca (floe cert makes them), or say --insecure=%s to run it in the clear", name, at, name)
		}
	}
	for _, name := range []string{"ice", "ice-ws", "rmr", "rmr-topics", "rtg", "nbi", "metrics"} {
		if at := beyond(o.at[name]); at != "" && len(o.allow) == 0 {
			return usagef("--%s %s can be reached from other machines: say with --allow-from CIDR[,...] who may use it", name, at)
		}
	}
	return nil
}

// plainRanges are the listeners in the clear, with who beyond this machine
// may use them.
func (o *options) plainRanges() map[string][]string {
	plain := map[string][]string{}
	for _, name := range listenerNames {
		if len(o.at[name]) == 0 || name == "ice-ssl" || name == "ice-wss" || name == "peer" && o.encrypted(name) || name == "http" && o.encrypted(name) {
			continue
		}
		plain[name] = []string{}
		switch {
		case beyond(o.at[name]) == "":
		case name == "peer", name == "http":
			plain[name] = []string{"0.0.0.0/0", "::/0"}
		default:
			for _, p := range o.allow {
				plain[name] = append(plain[name], p.String())
			}
		}
	}
	return plain
}

// beyond returns the first address that is not of this machine alone.
func beyond(at []string) string {
	for _, a := range at {
		ap, err := netip.ParseAddrPort(a)
		if err != nil || !ap.Addr().IsLoopback() {
			return a
		}
	}
	return ""
}

func (o *options) checkAdapter() error {
	if o.text("ice-adapter-id") != "" && o.text("ice-locator") == "" {
		return usagef("--ice-adapter-id needs --ice-locator, which says where the registry is")
	}
	if text := o.text("ice-locator"); text != "" {
		if _, err := proto.ParseProxy(text); err != nil {
			return usagef("--ice-locator: %v", err)
		}
	}
	return nil
}

// allowed filters connections by address: those from this machine and from
// the ranges of --allow-from may in.
type allowed struct {
	net.Listener
	ranges []netip.Prefix
}

// Accept returns the next connection that is allowed; others are closed.
func (a *allowed) Accept() (net.Conn, error) {
	for {
		c, err := a.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if mayIn(c.RemoteAddr(), a.ranges) {
			return c, nil
		}
		_ = c.Close() // never used
	}
}

// allowedPackets does the same for datagrams.
type allowedPackets struct {
	net.PacketConn
	ranges []netip.Prefix
}

// ReadFrom returns the next datagram that is allowed.
func (a *allowedPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := a.PacketConn.ReadFrom(b)
		if err != nil || mayIn(from, a.ranges) {
			return n, from, err
		}
	}
}

func mayIn(from net.Addr, ranges []netip.Prefix) bool {
	ap, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return false
	}
	ip := ap.Addr().Unmap().WithZone("")
	return ip.IsLoopback() || slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// network keeps a listener of an IPv4 address to IPv4: asked for 0.0.0.0,
// package net would listen on [::] as well.
func network(kind, at string) string {
	if ap, err := netip.ParseAddrPort(at); err == nil && ap.Addr().Is4() {
		return kind + "4"
	}
	return kind
}

// listen opens a listener for a flag.
func listen(flag, at string) (net.Listener, error) {
	l, err := net.Listen(network("tcp", at), at)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w; another program, or another floe, may have that address", flag, at, err)
	}
	return l, nil
}

// listenBoth opens tcp and udp on the same port.
func listenBoth(flag, at string) (net.Listener, net.PacketConn, error) {
	for tries := 0; ; tries++ {
		l, err := listen(flag, at)
		if err != nil {
			return nil, nil, err
		}
		p, err := net.ListenPacket(network("udp", at), l.Addr().String())
		if err == nil {
			return l, p, nil
		}
		_ = l.Close() // err is the one to tell
		if _, port, _ := net.SplitHostPort(at); port != "0" || tries > 20 {
			return nil, nil, fmt.Errorf("--%s %s: %w; another program, or another floe, may have that address", flag, at, err)
		}
	}
}

// endpoint is what Ice clients are told about a listener.
func endpoint(kind proto.EndpointType, host string, port int) string {
	e := proto.Endpoint{Type: kind, Host: host, Port: int32(port), Timeout: proto.DefaultTimeout}
	if kind == proto.EndpointWS || kind == proto.EndpointWSS {
		e.Resource = "/"
	}
	return e.String()
}

// published returns host and port others are told for a bound address; flag
// names where the override comes from.
func published(bound net.Addr, advertised, flag, override string) (host string, port int, err error) {
	ap, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return "", 0, err
	}
	host, port = ap.Addr().Unmap().String(), int(ap.Port())
	if ap.Addr().IsUnspecified() || advertised != "" {
		host = advertised
	}
	if override == "" {
		return host, port, nil
	}
	h, p, err := net.SplitHostPort(override)
	if err != nil {
		return strings.Trim(override, "[]"), port, nil
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return "", 0, usagef("--%s %q: the port is no number from 1 to 65535", flag, override)
	}
	return h, int(n), nil
}
