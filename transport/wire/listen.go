package wire

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// portTries is how often Listen asks for a free TCP port whose UDP twin is
// free too.
const portTries = 50

// sockets opens the TCP listener and the UDP socket on one port number.
func sockets(cfg Config) (*net.TCPListener, *net.UDPConn, error) {
	host, port, err := net.SplitHostPort(cfg.Bind)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %q: not host:port: %w", cfg.Flag, cfg.Bind, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %q: port is no number from 0 to 65535", cfg.Flag, cfg.Bind)
	}
	for try := 1; ; try++ {
		ln, udp, err := pair(host, int(number))
		if err == nil {
			return ln, udp, nil
		}
		if number == 0 && try < portTries && errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		return nil, nil, bindError(cfg, err)
	}
}

func pair(host string, port int) (*net.TCPListener, *net.UDPConn, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	ln, err := net.Listen(network("tcp", host), address)
	if err != nil {
		return nil, nil, err
	}
	tcp := ln.(*net.TCPListener)
	address = net.JoinHostPort(host, strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port))
	packets, err := net.ListenPacket(network("udp", host), address)
	if err != nil {
		_ = tcp.Close() // the UDP error is the one to tell
		return nil, nil, err
	}
	return tcp, packets.(*net.UDPConn), nil
}

func bindError(cfg Config, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; another program holds it: stop that one or set another port with " + cfg.Flag
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; this host has no such address: correct " + cfg.Flag + " or --bind"
	case errors.Is(err, syscall.EACCES):
		hint = "; not allowed: ports below 1024 need a privilege, set another with " + cfg.Flag
	}
	return fmt.Errorf("%s %s: %w%s", cfg.Flag, cfg.Bind, err, hint)
}
