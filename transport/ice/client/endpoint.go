package client

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"

	"floe/transport/ice/proto"
)

// address is an endpoint as connections are kept by.
type address struct {
	kind     proto.EndpointType
	host     string
	port     int32
	resource string
}

func addressOf(e *proto.Endpoint) address {
	host := e.Host
	if host == "" {
		host = "127.0.0.1"
	}
	return address{kind: e.Type, host: host, port: e.Port, resource: e.Resource}
}

func (a address) hostPort() string { return net.JoinHostPort(a.host, strconv.Itoa(int(a.port))) }

func (a address) datagram() bool { return a.kind == proto.EndpointUDP }

func (a address) secure() bool { return a.kind == proto.EndpointSSL || a.kind == proto.EndpointWSS }

// usable returns the addresses a proxy may be reached at, in random order as
// Ice tries them.
func usable(p *proto.Proxy) ([]address, error) {
	datagram := p.Mode == proto.Datagram || p.Mode == proto.BatchDatagram
	var list []address
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if e.Opaque() {
			continue
		}
		if a := addressOf(e); a.datagram() == datagram && (a.secure() || !p.Secure) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("proxy %s: %w", p.String(), ErrNoEndpoint)
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, nil
}
