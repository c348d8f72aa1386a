package proto

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var protocolNames = map[EndpointType]string{
	EndpointTCP: "tcp",
	EndpointSSL: "ssl",
	EndpointUDP: "udp",
	EndpointWS:  "ws",
	EndpointWSS: "wss",
}

// ParseEndpoints reads endpoint strings separated by colons, such as
// "tcp -h host -p 10000:udp -p 10000". Those of unknown protocols are
// dropped, unless none is left.
func ParseEndpoints(s string) ([]Endpoint, error) {
	list, err := parseEndpoints(s)
	if err != nil {
		return nil, fmt.Errorf("endpoints %q: %w", s, err)
	}
	return list, nil
}

func parseEndpoints(s string) ([]Endpoint, error) {
	var list []Endpoint
	unknown := ""
	for more := true; more; {
		var one string
		one, s, more = cutEndpoint(s)
		e, known, err := parseEndpoint(one)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", one, err)
		}
		if !known {
			unknown = one
			continue
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("endpoint %q: unknown protocol", unknown)
	}
	return list, nil
}

// cutEndpoint splits at the first colon outside double quotes. As in Ice,
// single quotes don't protect a colon.
func cutEndpoint(s string) (one, rest string, more bool) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted && strings.IndexByte(s[i+1:], '"') >= 0
		case s[i] == ':' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// parseEndpoint reads one endpoint; known is false for a foreign protocol.
func parseEndpoint(s string) (e Endpoint, known bool, err error) {
	words, err := splitWords(s)
	if err != nil {
		return e, false, err
	}
	if len(words) == 0 {
		return e, false, errors.New("empty")
	}
	if words[0] == "opaque" {
		e, err = parseOpaque(words[1:])
		return e, true, err
	}
	e, known = newEndpoint(words[0])
	if !known {
		return e, false, nil
	}
	return e, true, eachOption(words[1:], e.setOption)
}

func newEndpoint(protocol string) (Endpoint, bool) {
	if protocol == "default" {
		protocol = "tcp"
	}
	for t, name := range protocolNames {
		if name != protocol {
			continue
		}
		e := Endpoint{Type: t}
		if t != EndpointUDP {
			e.Timeout = DefaultTimeout
		}
		if t.websocket() {
			e.Resource = "/"
		}
		return e, true
	}
	return Endpoint{}, false
}

// eachOption calls set for each option with its argument, "" where there is
// none. An argument never begins with '-'.
func eachOption(words []string, set func(option, argument string) error) error {
	for len(words) > 0 {
		option, argument := words[0], ""
		words = words[1:]
		if len(option) < 2 || option[0] != '-' {
			return fmt.Errorf("unrecognized argument %q", option)
		}
		if len(words) > 0 && words[0][0] != '-' {
			argument, words = words[0], words[1:]
		}
		if err := set(option, argument); err != nil {
			return fmt.Errorf("option %s: %w", option, err)
		}
	}
	return nil
}

var errUnknownOption = errors.New("unrecognized")

func (e *Endpoint) setOption(option, argument string) (err error) {
	switch option {
	case "-z":
		e.Compress = true
		return noArgument(argument)
	case "-c":
		e.Connect = true
		if e.Type != EndpointUDP {
			return errUnknownOption
		}
		return noArgument(argument)
	}
	if argument == "" {
		return errors.New("no argument, or unrecognized")
	}
	switch option {
	case "-h":
		e.Host = argument
		if argument == "*" {
			return errors.New("\"*\" is not valid for the endpoint of a proxy")
		}
	case "-p":
		e.Port, err = parseRange(argument, 0, 65535)
	case "--sourceAddress":
		e.SourceAddress = argument
	default:
		if e.Type == EndpointUDP {
			return e.setUDPOption(option, argument)
		}
		return e.setStreamOption(option, argument)
	}
	return err
}

func (e *Endpoint) setStreamOption(option, argument string) (err error) {
	switch {
	case option == "-t" && argument == "infinite":
		e.Timeout = Infinite
	case option == "-t":
		e.Timeout, err = parseRange(argument, 1, 1<<31-1)
	case option == "-r" && e.Type.websocket():
		e.Resource = argument
	default:
		return errUnknownOption
	}
	return err
}

func (e *Endpoint) setUDPOption(option, argument string) (err error) {
	switch option {
	case "--interface":
		e.Interface = argument
	case "--ttl":
		e.TTL, err = parseRange(argument, 0, 255)
	case "-v", "-e": // printed by Ice before 3.5
		_, err = parseVersion(argument)
	default:
		return errUnknownOption
	}
	return err
}

func noArgument(argument string) error {
	if argument != "" {
		return fmt.Errorf("unexpected argument %q", argument)
	}
	return nil
}

func parseRange(s string, low, high int64) (int32, error) {
	v, err := strconv.ParseInt(strings.TrimLeft(s, space), 10, 64)
	if err != nil || v < low || v > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", s, low, high)
	}
	return int32(v), nil
}

// parseOpaque reads the options of an opaque endpoint. One whose type is
// known becomes a proper endpoint, as in Ice.
func parseOpaque(words []string) (Endpoint, error) {
	seen := map[string]bool{}
	e := Endpoint{RawEncoding: Encoding10}
	err := eachOption(words, func(option, argument string) error {
		if seen[option] {
			return errors.New("given twice")
		}
		seen[option] = true
		return e.setOpaqueOption(option, argument)
	})
	if err != nil {
		return Endpoint{}, err
	}
	if !seen["-t"] || !seen["-v"] {
		return Endpoint{}, errors.New("opaque needs the options -t and -v")
	}
	encaps, start := BeginEncapsulation(nil, e.RawEncoding)
	encaps = EndEncapsulation(append(encaps, e.Raw...), start)
	plain := Endpoint{Type: e.Type}
	return plain, plain.decode(encaps)
}

func (e *Endpoint) setOpaqueOption(option, argument string) (err error) {
	if argument == "" {
		return errors.New("no argument, or unrecognized")
	}
	switch option {
	case "-t":
		var t int32
		t, err = parseRange(argument, 0, 65535)
		e.Type = EndpointType(t)
	case "-e":
		e.RawEncoding, err = parseVersion(argument)
	case "-v":
		e.Raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(argument, "="))
	default:
		return errUnknownOption
	}
	return err
}

// splitWords splits at white space outside quotes; quotes are removed, and
// empty words dropped. Source: IceUtilInternal::splitString.
func splitWords(s string) ([]string, error) {
	var words []string
	var word []byte
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && closes(s[i+1], quote):
			i++
			word = append(word, s[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.IndexByte(space, c) >= 0:
			words = appendWord(words, word)
			word = word[:0]
		default:
			word = append(word, c)
		}
	}
	if quote != 0 {
		return nil, errors.New("mismatched quote")
	}
	return appendWord(words, word), nil
}

func appendWord(words []string, word []byte) []string {
	if len(word) == 0 {
		return words
	}
	return append(words, string(word))
}

// closes says whether c, after a backslash, is a quote that would mean
// something: the open one, or any where none is open.
func closes(c, open byte) bool {
	return c == open || (open == 0 && (c == '"' || c == '\''))
}

// String returns the endpoint as Ice prints it.
func (e *Endpoint) String() string {
	if e.Opaque() {
		return fmt.Sprintf("opaque -t %d -e %v -v %s", uint16(e.Type), e.RawEncoding, base64.StdEncoding.EncodeToString(e.Raw))
	}
	var b strings.Builder
	b.WriteString(protocolNames[e.Type])
	writeOption(&b, "-h", e.Host)
	b.WriteString(" -p " + strconv.Itoa(int(e.Port)))
	writeOption(&b, "--sourceAddress", e.SourceAddress)
	if e.Type == EndpointUDP {
		e.writeUDP(&b)
	} else {
		writeTimeout(&b, e.Timeout)
	}
	if e.Compress {
		b.WriteString(" -z")
	}
	if e.Type.websocket() {
		writeOption(&b, "-r", e.Resource)
	}
	return b.String()
}

func (e *Endpoint) writeUDP(b *strings.Builder) {
	writeOption(b, "--interface", e.Interface)
	if e.TTL > 0 {
		b.WriteString(" --ttl " + strconv.Itoa(int(e.TTL)))
	}
	if e.Connect {
		b.WriteString(" -c")
	}
}

func writeTimeout(b *strings.Builder, timeout int32) {
	if timeout == Infinite {
		b.WriteString(" -t infinite")
		return
	}
	b.WriteString(" -t " + strconv.Itoa(int(timeout)))
}

// writeOption writes an option unless its argument is empty. Ice quotes only
// arguments with a colon and prints others that can't be read back.
func writeOption(b *strings.Builder, option, argument string) {
	if argument == "" {
		return
	}
	if strings.ContainsAny(argument, separators) {
		argument = `"` + argument + `"`
	}
	b.WriteString(" " + option + " " + argument)
}
