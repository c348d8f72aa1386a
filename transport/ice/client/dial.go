package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"floe/transport/ice/proto"
)

// dial connects to an address and waits for the peer's ValidateConnection.
func (c *Client) dial(a address) (*conn, error) {
	raw, err := c.dialRaw(a)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", a.hostPort(), err)
	}
	if a.datagram() {
		return newConn(c, a, raw, raw), nil
	}
	nc := raw
	deadline := time.Now().Add(c.config.ConnectTimeout)
	nc.SetDeadline(deadline)
	release := context.AfterFunc(c.ctx, func() { nc.SetDeadline(time.Now()) })
	nc, err = c.handshake(a, nc)
	if !release() || err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to %s: %w", a.hostPort(), orClosed(err))
	}
	nc.SetDeadline(time.Time{})
	return newConn(c, a, raw, nc), nil
}

func orClosed(err error) error {
	if err == nil {
		return ErrClosed
	}
	return err
}

func (c *Client) dialRaw(a address) (net.Conn, error) {
	d := net.Dialer{Timeout: c.config.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true}}
	if a.datagram() {
		return d.DialContext(c.ctx, "udp", a.hostPort())
	}
	return d.DialContext(c.ctx, "tcp", a.hostPort())
}

// handshake brings a TCP connection to the point where requests may be sent.
// It returns the connection to go on with, also beside an error.
func (c *Client) handshake(a address, nc net.Conn) (net.Conn, error) {
	if a.secure() {
		secured, err := c.secure(a, nc)
		if err != nil {
			return nc, err
		}
		nc = secured
	}
	if a.kind == proto.EndpointWS || a.kind == proto.EndpointWSS {
		upgraded, err := upgrade(nc, a.hostPort(), a.resource)
		if err != nil {
			return nc, err
		}
		nc = upgraded
	}
	return nc, awaitValidate(nc)
}

func (c *Client) secure(a address, nc net.Conn) (net.Conn, error) {
	if c.config.TLS == nil {
		return nil, errors.New("ssl: no certificates configured")
	}
	config := c.config.TLS().Clone()
	if config.ServerName == "" {
		config.ServerName = a.host
	}
	secured := tls.Client(nc, config)
	return secured, secured.Handshake()
}

// awaitValidate reads the first message of a server.
func awaitValidate(nc net.Conn) error {
	var b [proto.HeaderSize]byte
	if _, err := io.ReadFull(nc, b[:]); err != nil {
		return fmt.Errorf("no ValidateConnection: %w", err)
	}
	h, err := proto.ParseHeader(b[:], proto.HeaderSize)
	if err != nil {
		return err
	}
	if h.Type != proto.MessageValidateConnection {
		return fmt.Errorf("%w: %v instead of ValidateConnection", proto.ErrProtocol, h.Type)
	}
	return nil
}
