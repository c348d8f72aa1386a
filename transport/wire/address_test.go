package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func addrs(s ...string) []netip.Addr {
	out := make([]netip.Addr, len(s))
	for i := range s {
		out[i] = addr(s[i])
	}
	return out
}

func TestAdvertised(t *testing.T) {
	tests := map[string]struct {
		bound, advertise string
		interfaces       []netip.Addr
		want             string // "" with errs
		errs             []string
	}{
		"bound address":              {bound: "127.0.0.2:7400", want: "127.0.0.2:7400"},
		"v6":                         {bound: "[2001:db8::1]:7400", want: "[2001:db8::1]:7400"},
		"given":                      {bound: "0.0.0.0:7400", advertise: "192.0.2.7:7500", want: "192.0.2.7:7500"},
		"given, bound port":          {bound: "0.0.0.0:7400", advertise: "192.0.2.7:0", want: "192.0.2.7:7400"},
		"given name":                 {bound: "0.0.0.0:7400", advertise: "n1.example:7400", want: "n1.example:7400"},
		"one interface":              {bound: "0.0.0.0:7400", interfaces: addrs("127.0.0.1", "::1", "fe80::1", "192.0.2.1", "2001:db8::1"), want: "192.0.2.1:7400"},
		"one interface, v6":          {bound: "[::]:7400", interfaces: addrs("127.0.0.1", "::1", "fe80::1", "2001:db8::1"), want: "[2001:db8::1]:7400"},
		"same address twice":         {bound: "[::]:7400", interfaces: addrs("192.0.2.1", "::ffff:192.0.2.1"), want: "192.0.2.1:7400"},
		"no interface":               {bound: "0.0.0.0:7400", interfaces: addrs("127.0.0.1", "169.254.0.1"), errs: []string{"--peer", "no interface", "--advertise"}},
		"three interfaces":           {bound: "0.0.0.0:7400", interfaces: addrs("192.0.2.1", "192.0.2.2", "192.0.2.3"), errs: []string{"192.0.2.1, 192.0.2.2, 192.0.2.3", "--advertise"}},
		"v4 and v6 under wildcard":   {bound: "[::]:7400", interfaces: addrs("192.0.2.1", "2001:db8::1"), errs: []string{"--advertise"}},
		"given unspecified":          {bound: "127.0.0.1:7400", advertise: "0.0.0.0:7400", errs: []string{"--advertise", "unspecified"}},
		"given unspecified v6":       {bound: "127.0.0.1:7400", advertise: "[::]:7400", errs: []string{"--advertise", "unspecified"}},
		"given mapped unspecified":   {bound: "127.0.0.1:7400", advertise: "[::ffff:0.0.0.0]:7400", errs: []string{"--advertise", "unspecified"}},
		"given without host":         {bound: "127.0.0.1:7400", advertise: ":7400", errs: []string{"--advertise", "unspecified"}},
		"given without port":         {bound: "127.0.0.1:7400", advertise: "192.0.2.1", errs: []string{"--advertise", "host:port"}},
		"given with port over range": {bound: "127.0.0.1:7400", advertise: "192.0.2.1:70000", errs: []string{"--advertise", "65535"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Bind: test.bound, Advertise: test.advertise,
				interfaces: func() ([]netip.Addr, error) { return test.interfaces, nil }}.withDefaults()
			got, err := advertised(cfg, netip.MustParseAddrPort(test.bound))
			if got != test.want || (err == nil) != (test.errs == nil) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			for _, part := range test.errs {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %q", part, err)
				}
			}
		})
	}
}

// Case C19: wildcard binds start when the choice is unambiguous, and never
// gossip an unspecified address.
func TestWildcardBind(t *testing.T) {
	for _, bind := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		for _, n := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s %d interfaces", bind, n), func(t *testing.T) {
				interfaces := addrs("192.0.2.1", "192.0.2.2", "192.0.2.3")[:n]
				p, err := Listen(Config{Bind: bind, interfaces: func() ([]netip.Addr, error) { return interfaces, nil }})
				if n == 1 {
					if err != nil {
						t.Fatal(err)
					}
					defer shutdown(t, p)
					gossipsOnly(t, p, "192.0.2.1")
					return
				}
				if !errors.Is(err, ErrNoAdvertise) || !strings.Contains(err.Error(), "--advertise") {
					t.Errorf("got %v, want ErrNoAdvertise naming --advertise", err)
				}
			})
		}
	}
}

func gossipsOnly(t *testing.T, p *Port, want string) {
	t.Helper()
	ip, port, err := p.GossipTransport().FinalAdvertiseAddr("", 0)
	if err != nil || ip.String() != want || port != int(p.Addr().Port()) {
		t.Errorf("gossips %s %d, %v, want %s", ip, port, err, want)
	}
	if _, _, err := p.GossipTransport().FinalAdvertiseAddr("0.0.0.0", 7400); !errors.Is(err, ErrNoAdvertise) {
		t.Errorf("got %v, want ErrNoAdvertise", err)
	}
}

func TestTCPAndUDPShareANumber(t *testing.T) {
	p := listen(t, Config{})
	udp := p.gossip.udp.LocalAddr().(*net.UDPAddr).AddrPort()
	if got, want := udp, p.Addr(); got != want {
		t.Errorf("got udp %s, want %s", got, want)
	}
}

func TestListenErrors(t *testing.T) {
	taken := listen(t, Config{}).Addr().String()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	tests := map[string]struct {
		bind string
		want []string
		is   error
	}{
		"tcp taken":     {taken, []string{"--peer " + taken, "another program"}, syscall.EADDRINUSE},
		"udp taken":     {udp.LocalAddr().String(), []string{"--peer " + udp.LocalAddr().String(), "another program"}, syscall.EADDRINUSE},
		"no such ip":    {"192.0.2.1:0", []string{"--peer 192.0.2.1:0", "no such address"}, syscall.EADDRNOTAVAIL},
		"no port":       {"127.0.0.1", []string{"--peer", "host:port"}, nil},
		"port too high": {"127.0.0.1:65536", []string{"--peer", "65535"}, nil},
		"named port":    {"127.0.0.1:http", []string{"--peer", "65535"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Listen(Config{Bind: test.bind})
			if err == nil {
				shutdown(t, p)
				t.Fatal("no error")
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %q", part, err)
				}
			}
		})
	}
}
