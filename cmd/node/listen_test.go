package main

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"floe/transport/ice/proto"
)

func optionsOf(t *testing.T, args ...string) (*options, error) {
	t.Helper()
	flags := pflag.NewFlagSet("start", pflag.ContinueOnError)
	startFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return readOptions(flags)
}

func TestListeners(t *testing.T) {
	tests := []struct {
		args string
		name string
		want string
	}{
		{"", "ice", "127.0.0.1:10000"},
		{"", "peer", "127.0.0.1:7400"},
		{"", "http", "127.0.0.1:7480"},
		{"", "ice-ws", ""},
		{"--bind 127.0.0.2", "ice", "127.0.0.2:10000"},
		{"--bind 127.0.0.2 --ice :11", "ice", "127.0.0.2:11"},
		{"--bind ::1 --ice :11", "ice", "[::1]:11"},
		{"--bind 127.0.0.2 --ice 127.0.0.3:11", "ice", "127.0.0.3:11"},
		{"--ice 127.0.0.3:11,:12", "ice", "127.0.0.3:11 127.0.0.1:12"},
		{"--ice off", "ice", ""},
		{"--http localhost:1", "http", "127.0.0.1:1"},
	}
	for _, tt := range tests {
		o, err := optionsOf(t, strings.Fields(tt.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(o.at[tt.name], " "); got != tt.want {
			t.Errorf("%s: --%s: got %q, want %q", tt.args, tt.name, got, tt.want)
		}
	}
}

// Nothing listens beyond this machine unless somebody said so, for each listener.
func TestSafeByDefault(t *testing.T) {
	tests := []struct {
		args string
		want string // part of the refusal, "" where there is none
	}{
		{"", ""},
		{"--bind 127.9.9.9", ""},
		{"--bind ::1", ""},
		{"--bind 10.0.0.1", "--insecure=peer"},
		{"--bind 0.0.0.0 --insecure=http", "--insecure=peer"},
		{"--bind 0.0.0.0 --insecure=peer", "--insecure=http"},
		{"--bind 10.0.0.1 --insecure", "--allow-from"},
		{"--bind 10.0.0.1 --insecure --ice off", "--rmr 10.0.0.1:4560"},
		{"--bind 10.0.0.1 --insecure --ice off --rmr off --rmr-topics off", "--rtg 10.0.0.1:4561"},
		{"--bind 10.0.0.1 --insecure --ice off --rmr off --rmr-topics off --rtg off", ""},
		{"--nbi 10.0.0.1:3800", "--allow-from"},
		{"--bind 10.0.0.1 --insecure --allow-from 10.0.0.0/8", ""},
		{"--bind 10.0.0.1 --allow-from 10.0.0.0/8", "--insecure=peer"},
		{"--ice [::]:10000", "--allow-from"},
		{"--ice-ws 10.0.0.1:1", "--allow-from"},
		{"--http 10.0.0.1:1", "--insecure=http"},
		{"--http 10.0.0.1:1", "floe cert makes them"},
		{"--metrics 10.0.0.1:1", "--allow-from"},
		{"--bind 10.0.0.1 --allow-from 10.0.0.0/8 --tls-cert c --tls-key k --tls-ca a", ""},
		{"--bind 10.0.0.1 --tls-cert c --tls-key k --tls-ca a", "--allow-from"},
		{"--tls-cert c --tls-ca a", "--tls-key go together"},
		{"--tls-cert c --tls-key k", "--tls-cert needs --tls-ca"},
		{"--tls-ca a", "--tls-cert needs --tls-ca"},
		{"--ice-tls-key k", "--ice-tls-key go together"},
		{"--ice-ssl :1", "--ice-tls-cert"},
		{"--ice-ssl :1 --ice-tls-cert c --ice-tls-key k", ""},
		{"--ice-ssl :1 --tls-cert c --tls-key k --tls-ca a", ""},
		{"--ice-allow change=cert", "--ice-tls-ca"},
		{"--ice-allow change=cert --ice-ssl :1 --ice-tls-cert c --ice-tls-key k", "--ice-tls-ca"},
		{"--ice-allow change=cert --ice-ssl :1 --ice-tls-cert c --ice-tls-key k --ice-tls-ca a", ""},
		{"--ice-allow alter=any", "neither an operation of IceStorm"},
		{"--rmr-allow 100=any;*=10.0.0.0/8", ""},
		{"--rmr-allow RIC_SUB_REQ=any", "--rmr-allow: rule \"RIC_SUB_REQ=any\": \"RIC_SUB_REQ\" is none of a message type"},
		{"--rmr-allow 1-9=any;5=none", "--rmr-allow: 5 is named twice"},
		{"--clusters-ca f", "--clusters-ca needs --tls-cert"},
	}
	for _, tt := range tests {
		_, err := optionsOf(t, strings.Fields(tt.args)...)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || exitCode(err) != 2) {
			t.Errorf("%s: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestMayIn(t *testing.T) {
	ranges, err := parsePrefixes("10.1.0.0/16,192.168.1.7,fd00::/8")
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "10.1.2.3:1": true, "10.2.0.1:1": false,
		"192.168.1.7:1": true, "192.168.1.8:1": false, "[::ffff:10.1.2.3]:1": true, "[fd12::1]:1": true, "[2001:db8::1]:1": false,
	} {
		if got := mayIn(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from)), ranges); got != want {
			t.Errorf("%s: got %t, want %t", from, got, want)
		}
	}
	for _, bad := range []string{"10.0.0.0/33", "x", "10.0.0.0/8,", "10.0.0"} {
		if _, err := parsePrefixes(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestPublished(t *testing.T) {
	tests := []struct {
		bound, advertised, override string
		want                        string
	}{
		{"127.0.0.1:10000", "", "", "tcp -h 127.0.0.1 -p 10000 -t 60000"},
		{"0.0.0.0:10000", "10.0.0.1", "", "tcp -h 10.0.0.1 -p 10000 -t 60000"},
		{"10.0.0.9:10000", "10.0.0.1", "", "tcp -h 10.0.0.1 -p 10000 -t 60000"},
		{"0.0.0.0:10000", "10.0.0.1", "floe.example", "tcp -h floe.example -p 10000 -t 60000"},
		{"0.0.0.0:10000", "10.0.0.1", "floe.example:99", "tcp -h floe.example -p 99 -t 60000"},
		{"[::1]:10000", "", "", `tcp -h "::1" -p 10000 -t 60000`},
		{"[::]:10000", "::2", "[::3]:7", `tcp -h "::3" -p 7 -t 60000`},
	}
	for _, tt := range tests {
		host, port, err := published(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.bound)), tt.advertised, "ice-published", tt.override)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, endpoint(proto.EndpointTCP, host, port)); d != "" {
			t.Errorf("%s, %s, %s: %s", tt.bound, tt.advertised, tt.override, d)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "70000": 70000, "64KiB": 65536, "1MiB": 1 << 20, "2 GiB": 2 << 30, "1MB": 1000000, "7B": 7} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "1.5MiB", "MiB", "99999999999999999999", "9999999GiB", "x"} {
		if got, err := parseSize(bad); err == nil {
			t.Errorf("%q: got %d", bad, got)
		}
	}
}

// What is said is what is listened on: 0.0.0.0 is no [::].
func TestListensOnWhatWasSaid(t *testing.T) {
	for at, want := range map[string]string{"0.0.0.0:0": "0.0.0.0", "127.0.0.1:0": "127.0.0.1", "[::]:0": "::"} {
		l, p, err := listenBoth("ice", at)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []net.Addr{l.Addr(), p.LocalAddr()} {
			if got, _, _ := net.SplitHostPort(a.String()); got != want {
				t.Errorf("%s: got %s", at, a)
			}
		}
		l.Close()
		p.Close()
	}
}

func TestPortsOfANode(t *testing.T) {
	for _, tt := range []struct{ address, http, peer, want string }{
		{"127.0.0.1:7480", "127.0.0.1:7480", "127.0.0.1:7400", "127.0.0.1:7480 127.0.0.1:7400"},
		{"host:7480", "0.0.0.0:7480", "0.0.0.0:7400", "host:7480 host:7400"},
		{"host:7480", "10.0.0.1:7480", "127.0.0.1:7400", "host:7480"}, // another interface, another machine's for us
		{"host:7480", "", "", "host:7480"},
	} {
		got := strings.Join(portsOf(tt.address, map[string]string{"http": tt.http, "peer": tt.peer}), " ")
		if got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

func TestAwaitClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if awaitClosed(t.Context(), []string{l.Addr().String()}, 100*time.Millisecond) {
		t.Error("closed, and it listens")
	}
	time.AfterFunc(100*time.Millisecond, func() { l.Close() })
	if !awaitClosed(t.Context(), []string{l.Addr().String()}, 10*time.Second) {
		t.Error("not closed within 10 s")
	}
}

// Status says of each listener in the clear who may use it.
func TestPlainListenersAreListed(t *testing.T) {
	for args, want := range map[string]map[string]string{
		"": {"peer": "  plain, this machine only", "ice": "  plain, this machine only", "rmr": "  plain, this machine only", "http": "  plain, this machine only", "nbi": "", "ice-ssl": ""},
		"--bind 10.0.0.1 --insecure --allow-from 10.0.0.0/8,fd00::/8 --ice-ws :1 --nbi :2": {
			"peer": "  plain, anybody", "http": "  plain, anybody", "ice": "  plain, this machine and 10.0.0.0/8, fd00::/8",
			"ice-ws": "  plain, this machine and 10.0.0.0/8, fd00::/8", "rtg": "  plain, this machine and 10.0.0.0/8, fd00::/8", "nbi": "  plain, this machine and 10.0.0.0/8, fd00::/8",
		},
		"--bind 10.0.0.1 --allow-from 10.0.0.0/8 --tls-cert c --tls-key k --tls-ca a --ice-ssl :1 --rmr 127.0.0.1:1 --metrics :3": {
			"peer": "", "http": "", "ice-ssl": "", "rmr": "  plain, this machine only", "metrics": "  plain, this machine and 10.0.0.0/8",
		},
		"--ice 10.0.0.1:1 --allow-from 0.0.0.0/0": {"ice": "  plain, anybody", "http": "  plain, this machine only"},
	} {
		o, err := optionsOf(t, strings.Fields(args)...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		for name, text := range want {
			if got := plainText(o.plainRanges(), name); got != text {
				t.Errorf("%q: %s: got %q, want %q", args, name, got, text)
			}
		}
	}
}
