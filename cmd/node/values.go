package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"floe/transport/http/client"
)

// value is a flag's value: text that was checked when it was set. It is a
// pflag.Value.
type value struct {
	text, kind string
	check      func(string) (string, error)
}

var errEmpty = errors.New("it needs a value")

// String returns the value as text.
func (v *value) String() string { return v.text }

// Type names the kind of value in the help.
func (v *value) Type() string { return v.kind }

// Set checks and takes a value. An empty one is never right.
func (v *value) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmpty
	}
	text, err := v.check(text)
	if err != nil {
		return err
	}
	v.text = text
	return nil
}

func newText(text string) *value {
	return &value{text: text, kind: "text", check: func(s string) (string, error) { return s, nil }}
}

func newDuration(d time.Duration) *value {
	return &value{text: shortDuration(d), kind: "duration", check: func(s string) (string, error) {
		if d, err := time.ParseDuration(s); err != nil || d <= 0 {
			return "", fmt.Errorf("%q is not a duration above zero, such as 500ms, 5s or 2m", s)
		}
		return s, nil
	}}
}

// shortDuration is a duration as people write it: 1m, not 1m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if rest, cut := strings.CutSuffix(text, zero); cut && rest != "" && strings.HasSuffix(rest, map[string]string{"0s": "m", "0m": "h"}[zero]) {
			text = rest
		}
	}
	return text
}

// newOffOrLonger takes off, or a duration of at least that.
func newOffOrLonger(least time.Duration) *value {
	return &value{text: "off", kind: "duration", check: func(s string) (string, error) {
		if d, err := time.ParseDuration(s); s != "off" && (err != nil || d < least) {
			return "", fmt.Errorf("%q is neither off nor a duration of at least %v", s, least)
		}
		return s, nil
	}}
}

// newNumber takes whole numbers from low to high.
func newNumber(n, low, high int64) *value {
	return &value{text: strconv.FormatInt(n, 10), kind: "number", check: func(s string) (string, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < low || n > high {
			return "", fmt.Errorf("%q is not a whole number from %d to %d", s, low, high)
		}
		return s, nil
	}}
}

func newChoice(text string, choices ...string) *value {
	return &value{text: text, kind: strings.Join(choices, "|"), check: func(s string) (string, error) {
		if !slices.Contains(choices, s) {
			return "", fmt.Errorf("%q is none of %s", s, strings.Join(choices, ", "))
		}
		return s, nil
	}}
}

// newSize takes a number of bytes, with KiB, MiB or GiB if wanted.
func newSize(text string) *value {
	return &value{text: text, kind: "bytes", check: func(s string) (string, error) {
		_, err := parseSize(s)
		return s, err
	}}
}

var units = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"B", 1}, {"", 1}}

// parseSize reads "1048576", "1MiB" or "1 MiB".
func parseSize(s string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > (1<<40)/u.factor {
			break
		}
		return n * u.factor, nil
	}
	return 0, fmt.Errorf("%q is not a number of bytes above zero, such as 65536 or 16MiB", s)
}

// newAddresses takes HOST:PORT[,...], all of which have to be whole.
func newAddresses(text string) *value {
	return &value{text: text, kind: "addresses", check: func(s string) (string, error) {
		parts := strings.Split(s, ",")
		for i, p := range parts {
			parts[i] = strings.TrimSpace(p)
			if err := checkAddress(parts[i]); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, ","), nil
	}}
}

// newNodes takes what newAddresses does, with http:// or https:// before a part if wanted.
func newNodes(text string) *value {
	return &value{text: text, kind: "addresses", check: func(s string) (string, error) {
		parts := strings.Split(s, ",")
		for i, p := range parts {
			parts[i] = strings.TrimSpace(p)
			scheme, host := client.SplitAddress(parts[i])
			if scheme != "" && scheme != "http" && scheme != "https" {
				return "", fmt.Errorf("%q is neither http://HOST:PORT nor https://HOST:PORT", p)
			}
			if err := checkAddress(host); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, ","), nil
	}}
}

// checkAddress wants host:port with a host and a port from 1 to 65535.
func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not HOST:PORT", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q is not HOST:PORT: the port is no number from 1 to 65535", s)
	}
	if strings.ContainsAny(host, " /\\?#@\"'") {
		return fmt.Errorf("%q is not HOST:PORT: the host has a character no host has", s)
	}
	return nil
}

// newListener takes HOST:PORT, :PORT or off.
func newListener(port string) *value {
	return newListeners(port)
}

// newListeners takes a list of HOST:PORT and :PORT, or off.
func newListeners(port string) *value {
	text := port
	if port != "off" {
		text = ":" + port
	}
	return &value{text: text, kind: "listener", check: func(s string) (string, error) {
		if s == "off" {
			return s, nil
		}
		parts := strings.Split(s, ",")
		for i, p := range parts {
			parts[i] = strings.TrimSpace(p)
			if err := checkListener(parts[i]); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, ","), nil
	}}
}

// checkListener wants HOST:PORT or :PORT; port 0 lets the system choose.
func checkListener(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT, :PORT or off", s)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not HOST:PORT, :PORT or off: the port is no number from 0 to 65535", s)
	}
	if _, err := netip.ParseAddr(host); host != "" && host != "localhost" && err != nil {
		return fmt.Errorf("%q is not HOST:PORT, :PORT or off: the host has to be an IP address of this machine", s)
	}
	return nil
}

// newPrefixes takes CIDR[,...]; a bare address stands for itself alone.
func newPrefixes(text string) *value {
	return &value{text: text, kind: "ranges", check: func(s string) (string, error) {
		_, err := parsePrefixes(s)
		return s, err
	}}
}

func parsePrefixes(s string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		if ip, err := netip.ParseAddr(part); err == nil {
			out = append(out, netip.PrefixFrom(ip, ip.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a range such as 10.0.0.0/8", part)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// newNames takes a list of some of the names.
func newNames(text string, names ...string) *value {
	return &value{text: text, kind: "names", check: func(s string) (string, error) {
		for _, part := range strings.Split(s, ",") {
			if !slices.Contains(names, part) {
				return "", fmt.Errorf("%q is none of %s", part, strings.Join(names, ", "))
			}
		}
		return s, nil
	}}
}

func newBool() *value {
	return &value{text: "false", kind: "bool", check: func(s string) (string, error) {
		yes, err := strconv.ParseBool(s)
		if err != nil {
			return "", fmt.Errorf("%q is neither true nor false", s)
		}
		return strconv.FormatBool(yes), nil
	}}
}

// list is a flag that may be repeated. It is a pflag.Value.
type list struct {
	kind  string
	items []string
}

// String returns the items with commas.
func (l *list) String() string { return strings.Join(l.items, ",") }

// Type names the kind of value in the help.
func (l *list) Type() string { return l.kind }

// Set adds one item. An empty one is never right.
func (l *list) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmpty
	}
	l.items = append(l.items, text)
	return nil
}
