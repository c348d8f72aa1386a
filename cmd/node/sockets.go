package main

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// sockets are the listeners of the faces.
type sockets struct {
	ice     []iceSocket
	packets []net.PacketConn
	// plain maps the name of a listener that carries no Ice to its sockets.
	plain map[string][]net.Listener
	// listening maps a listener's name to where it is, for people, and
	// published to what others are told.
	listening map[string]string
	published map[string][]string
}

type iceSocket struct {
	net.Listener
	transport server.Transport
}

// iceKinds are the listeners that carry Ice.
var iceKinds = []struct {
	name      string
	kind      proto.EndpointType
	transport server.Transport
	secure    bool
}{
	{"ice", proto.EndpointTCP, server.Transport{Name: "tcp"}, false},
	{"ice-ssl", proto.EndpointSSL, server.Transport{Name: "ssl"}, true},
	{"ice-ws", proto.EndpointWS, server.Transport{Name: "ws", WebSocket: true}, false},
	{"ice-wss", proto.EndpointWSS, server.Transport{Name: "wss", WebSocket: true}, true},
}

// openSockets opens all listeners. host is what others are told of those
// that listen everywhere, secure how ssl is spoken.
func openSockets(o *options, host string, secure *tls.Config) (*sockets, error) {
	s := &sockets{plain: map[string][]net.Listener{}, listening: map[string]string{}, published: map[string][]string{}}
	if err := s.openAll(o, host, secure); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sockets) openAll(o *options, host string, secure *tls.Config) error {
	for _, k := range iceKinds {
		transport := k.transport
		if k.secure {
			transport.TLS = secure
		}
		for _, at := range o.at[k.name] {
			if err := s.openIce(o, k.name, at, host, k.kind, transport); err != nil {
				return err
			}
		}
	}
	for _, name := range plainKinds {
		for _, at := range o.at[name] {
			if err := s.openPlain(o, name, at, host); err != nil {
				return err
			}
		}
	}
	return s.override(o)
}

// plainKinds are the listeners that carry no Ice.
var plainKinds = []string{"http", "metrics", "rmr", "rmr-topics", "rtg", "nbi"}

// openPlain opens one of them.
func (s *sockets) openPlain(o *options, name, at, host string) error {
	l, err := listen(name, at)
	if err != nil {
		return err
	}
	s.note(name, l.Addr().String())
	flag, override := publishedAs(o, name)
	told, port, err := published(l.Addr(), advertisedFor(l.Addr(), host, o), flag, override)
	if err != nil {
		return err
	}
	s.published[name] = append(s.published[name], net.JoinHostPort(told, strconv.Itoa(port)))
	if name != "http" && len(o.allow) > 0 {
		l = &allowed{Listener: l, ranges: o.allow}
	}
	s.plain[name] = append(s.plain[name], l)
	return nil
}

// publishedAs returns what a person wants others to be told of a listener,
// and the flag that says so.
func publishedAs(o *options, name string) (flag, text string) {
	switch name {
	case "rmr":
		return "rmr-published", o.text("rmr-published")
	case "rmr-topics": // the same host, but the port is that of --rmr
		text = o.text("rmr-published")
		if host, _, err := net.SplitHostPort(text); err == nil {
			text = host
		}
		return "rmr-published", text
	case "rtg":
		return "rtg-published", o.text("rtg-published")
	}
	return "", ""
}

func (s *sockets) openIce(o *options, name, at, host string, kind proto.EndpointType, t server.Transport) error {
	var packets net.PacketConn
	l, err := net.Listener(nil), error(nil)
	if kind == proto.EndpointTCP {
		l, packets, err = listenBoth(name, at)
	} else {
		l, err = listen(name, at)
	}
	if err != nil {
		return err
	}
	s.note(name, l.Addr().String())
	told, port, err := published(l.Addr(), advertisedFor(l.Addr(), host, o), "ice-published", plainHost(o.text("ice-published")))
	if err != nil {
		return err
	}
	s.published["ice"] = append(s.published["ice"], endpoint(kind, told, port))
	s.ice = append(s.ice, iceSocket{filtered(l, kind, o), t})
	if packets != nil {
		s.packets = append(s.packets, filteredPackets(packets, o))
		s.published["ice"] = append(s.published["ice"], endpoint(proto.EndpointUDP, told, port))
	}
	return nil
}

// override takes Ice endpoints from --ice-published where it holds some.
func (s *sockets) override(o *options) error {
	text := o.text("ice-published")
	if !strings.Contains(text, " -") {
		return nil
	}
	endpoints, err := proto.ParseEndpoints(text)
	if err != nil {
		return usagef("--ice-published: %v", err)
	}
	s.published["ice"] = nil
	for i := range endpoints {
		s.published["ice"] = append(s.published["ice"], endpoints[i].String())
	}
	return nil
}

func plainHost(text string) string {
	if strings.Contains(text, " -") {
		return ""
	}
	return text
}

// advertisedFor is the host others are told in place of the bound one, "" to
// tell them the bound one.
func advertisedFor(bound net.Addr, host string, o *options) string {
	if o.text("advertise") != "" {
		return o.text("advertise")
	}
	if h, _, err := net.SplitHostPort(bound.String()); err == nil && net.ParseIP(h).IsUnspecified() {
		return host
	}
	return ""
}

func filtered(l net.Listener, kind proto.EndpointType, o *options) net.Listener {
	if len(o.allow) == 0 || kind == proto.EndpointSSL || kind == proto.EndpointWSS {
		return l
	}
	return &allowed{Listener: l, ranges: o.allow}
}

func filteredPackets(p net.PacketConn, o *options) net.PacketConn {
	if len(o.allow) == 0 {
		return p
	}
	return &allowedPackets{PacketConn: p, ranges: o.allow}
}

func (s *sockets) note(name, at string) {
	s.listening[name] = strings.TrimSpace(s.listening[name] + " " + at)
}

// close closes what nobody serves.
func (s *sockets) close() {
	for _, l := range s.ice {
		_ = l.Close() // never used
	}
	for _, p := range s.packets {
		_ = p.Close()
	}
	for _, list := range s.plain {
		for _, l := range list {
			_ = l.Close()
		}
	}
}

// iceServerTLS is how Ice over ssl is spoken to programs, nil without a
// certificate. They are asked for theirs where a rule of --ice-allow looks at it.
func (n *node) iceServerTLS() *tls.Config {
	if n.iceTLS == nil || n.options.iceTLSFiles().Cert == "" {
		return nil
	}
	return n.iceTLS.IceServer(n.options.access.Certificates())
}

// gossipKey is the secret of the gossip, nil where there is none.
func gossipKey(o *options) ([]byte, error) {
	text, _ := o.env("FLOE_GOSSIP_KEY")
	from, file := "FLOE_GOSSIP_KEY", o.text("gossip-key-file")
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--gossip-key-file: %w", err)
		}
		from, text = "--gossip-key-file "+file, string(b)
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
		return nil, usagef("%s: the secret is not 16, 24 or 32 bytes in base64", from)
	}
	return key, nil
}
