package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ErrNoAdvertise is wrapped by [Listen] when the bind address is unspecified
// and no single interface address can stand for it.
var ErrNoAdvertise = errors.New("no address to advertise")

// network is the one to listen on for host: an IPv4 wildcard does not mean
// IPv6 as well.
func network(kind, host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return kind + "4"
	}
	return kind
}

// advertised returns the host:port that others are told for a port bound to
// bound. It is never an unspecified address.
func advertised(cfg Config, bound netip.AddrPort) (string, error) {
	if cfg.Advertise != "" {
		return givenAdvertise(cfg.Advertise, bound.Port())
	}
	if ip := bound.Addr().Unmap(); !ip.IsUnspecified() {
		return netip.AddrPortFrom(ip, bound.Port()).String(), nil
	}
	ip, err := onlyInterface(cfg, bound.Addr().Is4())
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", cfg.Flag, cfg.Bind, err)
	}
	return netip.AddrPortFrom(ip, bound.Port()).String(), nil
}

func givenAdvertise(address string, bound uint16) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("--advertise %q: not host:port: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.Unmap().IsUnspecified() {
		return "", fmt.Errorf("--advertise %q: %w: give the address others can reach, not an unspecified one", address, ErrNoAdvertise)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("--advertise %q: port is no number from 0 to 65535", address)
	}
	if number == 0 {
		number = uint64(bound)
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}

// onlyInterface is the one address that can stand for a wildcard.
func onlyInterface(cfg Config, only4 bool) (netip.Addr, error) {
	all, err := cfg.interfaces()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read interface addresses: %w", err)
	}
	candidates := usable(all, only4)
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	if len(candidates) == 0 {
		return netip.Addr{}, fmt.Errorf("%w: no interface has a usable address; set --advertise IP", ErrNoAdvertise)
	}
	names := make([]string, len(candidates))
	for i, ip := range candidates {
		names[i] = ip.String()
	}
	return netip.Addr{}, fmt.Errorf("%w: interfaces offer %s; choose one with --advertise IP",
		ErrNoAdvertise, strings.Join(names, ", "))
}

// usable keeps what another host could dial: no loopback, link-local or
// multicast address, each once.
func usable(all []netip.Addr, only4 bool) []netip.Addr {
	var out []netip.Addr
	for _, ip := range all {
		ip = ip.Unmap()
		if !ip.IsGlobalUnicast() || only4 && !ip.Is4() || slices.Contains(out, ip) {
			continue
		}
		out = append(out, ip)
	}
	return out
}

// interfaceAddrs lists the addresses of all interfaces that are up.
func interfaceAddrs() ([]netip.Addr, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				out = append(out, prefix.Addr())
			}
		}
	}
	return out, nil
}
