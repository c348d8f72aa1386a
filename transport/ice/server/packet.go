package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"floe/transport/ice/proto"
)

// maxDatagram is the largest UDP payload, in bytes.
const maxDatagram = 65507

// refreshEvery is how often datagrams may have Objects refreshed: anybody can
// send them under any name.
const refreshEvery = 100 * time.Millisecond

// packets is one UDP socket. Datagrams are requests that are never answered;
// only those that need not wait are taken.
type packets struct {
	*listener
	request   Request
	refreshed time.Time
}

// ServePacket takes datagrams until Shutdown, then returns nil. It closes p.
// What is no Ice request is dropped and counted.
func (s *Server) ServePacket(p net.PacketConn, name string) error {
	ln := newListener(s, Transport{Name: name}, p)
	if !s.add(ln) {
		p.Close()
		return ErrClosed
	}
	defer s.remove(ln)
	defer p.Close()
	in := packets{listener: ln}
	return in.serve(p)
}

func (p *packets) serve(socket net.PacketConn) error {
	buf := make([]byte, maxDatagram+1)
	receive := receiver(socket)
	for {
		n, from, err := receive(buf)
		if p.server.isClosed() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("listener %s: %w", p.transport.Name, err)
		}
		if err != nil { // such as an ICMP answer to another socket's datagram
			continue
		}
		if err := p.datagram(p.server.ctx, buf[:n], from); err != nil {
			p.bad.add(from.String(), err)
		}
	}
}

// receiver returns how to read a datagram, without an allocation where the
// socket is one of UDP.
func receiver(socket net.PacketConn) func([]byte) (int, netip.AddrPort, error) {
	if udp, ok := socket.(*net.UDPConn); ok {
		return udp.ReadFromUDPAddrPort
	}
	return func(b []byte) (int, netip.AddrPort, error) {
		n, from, err := socket.ReadFrom(b)
		if err != nil {
			return n, netip.AddrPort{}, err
		}
		a, _ := netip.ParseAddrPort(from.String())
		return n, a, nil
	}
}

// datagram runs the requests in one datagram.
func (p *packets) datagram(ctx context.Context, b []byte, from netip.AddrPort) error {
	h, err := proto.ParseHeader(b, p.server.config.MessageSizeMax)
	if err != nil {
		return err
	}
	if h.Size > len(b) {
		return fmt.Errorf("%w: datagram of %d bytes says %d", proto.ErrProtocol, len(b), h.Size)
	}
	body, err := plain(h, b[proto.HeaderSize:h.Size], p.server.config.MessageSizeMax)
	if err != nil {
		return err
	}
	p.request.addr = from
	switch h.Type {
	case proto.MessageRequest:
		return p.single(ctx, body)
	case proto.MessageBatchRequest:
		return p.batch(ctx, body)
	}
	return fmt.Errorf("%w: a %v in a datagram", proto.ErrProtocol, h.Type)
}

func (p *packets) single(ctx context.Context, body []byte) error {
	if err := proto.ParseRequest(body, &p.request.Request); err != nil {
		return err
	}
	p.request.ID = 0
	p.dispatch(ctx)
	return nil
}

func (p *packets) batch(ctx context.Context, body []byte) error {
	b, err := proto.ParseBatch(body)
	if err != nil {
		return err
	}
	for b.Next(&p.request.Request) {
		p.dispatch(ctx)
	}
	return b.Err()
}

func (p *packets) dispatch(ctx context.Context) {
	if s := p.locate(ctx); s != nil && s.Inline(&p.request) {
		p.server.answer(ctx, s, &p.request, nil)
	}
}

func (p *packets) locate(ctx context.Context) Servant {
	objects, id := p.server.config.Objects, p.request.Identity
	if s := objects.Locate(id); s != nil {
		return s
	}
	if time.Since(p.refreshed) < refreshEvery {
		return nil
	}
	refreshed := objects.Refresh(ctx, id)
	p.refreshed = time.Now()
	if !refreshed {
		return nil
	}
	return objects.Locate(id)
}
