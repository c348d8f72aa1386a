package proto

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The letters of the mode options, in the order of ProxyMode.
const modeLetters = "toOdD"

// String returns the stringified proxy as Ice prints it; "" for the null
// proxy. ParseProxy reads it.
func (p *Proxy) String() string {
	if p.IsNull() {
		return ""
	}
	var b strings.Builder
	b.WriteString(quoteToken(p.Identity.String()))
	if p.Facet != "" {
		b.WriteString(" -f " + quoteToken(escape(p.Facet, 0)))
	}
	if int(p.Mode) < len(modeLetters) {
		b.WriteString(" -" + modeLetters[p.Mode:p.Mode+1])
	}
	if p.Secure {
		b.WriteString(" -s")
	}
	if p.Protocol != Protocol10 {
		b.WriteString(" -p " + p.Protocol.String())
	}
	b.WriteString(" -e " + p.Encoding.String())
	for i := range p.Endpoints {
		b.WriteString(":" + p.Endpoints[i].String())
	}
	if len(p.Endpoints) == 0 && p.AdapterID != "" {
		b.WriteString(" @ " + quoteToken(escape(p.AdapterID, 0)))
	}
	return b.String()
}

// quoteToken quotes what the parser would take apart. s is escaped, so its
// quotes need nothing more.
func quoteToken(s string) string {
	if strings.ContainsAny(s, " :@") || strings.HasPrefix(s, "-") {
		return `"` + s + `"`
	}
	return s
}

// ParseProxy reads a stringified proxy with the rules of Ice 3.7. An empty
// string, or "", is the null proxy. Defaults: twoway, encoding 1.1, endpoint
// timeout 60 s; a missing host stays empty. Endpoints of unknown protocols are
// dropped, unless none is left.
func ParseProxy(s string) (Proxy, error) {
	p, err := parseProxy(s)
	if err != nil {
		return Proxy{}, fmt.Errorf("proxy %q: %w", s, err)
	}
	return p, nil
}

func parseProxy(s string) (Proxy, error) {
	if s == "" {
		return Proxy{}, nil
	}
	sc := proxyScanner{rest: s}
	if sc.skipSpace() == 0 {
		return Proxy{}, errors.New("nothing but white space")
	}
	token, err := sc.token(separators)
	if err != nil {
		return Proxy{}, fmt.Errorf("identity: %w", err)
	}
	id, err := ParseIdentity(token)
	if err != nil {
		return Proxy{}, err
	}
	if id.Name == "" {
		return Proxy{}, sc.checkNull(id)
	}
	p := NewProxy(id)
	if err := sc.options(&p); err != nil {
		return Proxy{}, err
	}
	switch sc.skipSpace() {
	case ':':
		p.Endpoints, err = parseEndpoints(sc.rest[1:])
	case '@':
		sc.rest = sc.rest[1:]
		p.AdapterID, err = sc.adapterID()
	}
	return p, err
}

const (
	space      = " \t\r\n"
	separators = space + ":@"
)

// proxyScanner takes a proxy string apart.
type proxyScanner struct {
	rest string
}

// skipSpace returns the next byte that isn't white space, 0 at the end.
func (sc *proxyScanner) skipSpace() byte {
	sc.rest = strings.TrimLeft(sc.rest, space)
	if sc.rest == "" {
		return 0
	}
	return sc.rest[0]
}

// token reads a word up to one of the delimiters, or in quotes.
func (sc *proxyScanner) token(delimiters string) (string, error) {
	if quote := sc.rest[0]; quote == '"' || quote == '\'' {
		return sc.quoted(quote)
	}
	word := sc.until(delimiters)
	if word == "" {
		return "", errors.New("missing")
	}
	return word, nil
}

func (sc *proxyScanner) quoted(quote byte) (string, error) {
	for i := 1; i < len(sc.rest); i++ {
		if sc.rest[i] == quote && !escaped(sc.rest, i) {
			word := sc.rest[1:i]
			sc.rest = sc.rest[i+1:]
			return word, nil
		}
	}
	return "", errors.New("mismatched quotes")
}

// checkNull accepts "" with nothing after it as the null proxy.
func (sc *proxyScanner) checkNull(id Identity) error {
	if id.Category != "" {
		return errors.New("identity with a category but without a name")
	}
	if sc.skipSpace() != 0 {
		return errors.New("characters after an empty identity")
	}
	return nil
}

// options reads options up to the endpoints, the adapter id or the end.
func (sc *proxyScanner) options(p *Proxy) error {
	for {
		if c := sc.skipSpace(); c == 0 || c == ':' || c == '@' {
			return nil
		}
		option := sc.until(separators)
		if len(option) != 2 || option[0] != '-' {
			return fmt.Errorf("expected a proxy option but found %q", option)
		}
		argument, err := sc.argument()
		if err != nil {
			return fmt.Errorf("option %s: %w", option, err)
		}
		if err := p.setOption(option[1], argument); err != nil {
			return fmt.Errorf("option %s: %w", option, err)
		}
	}
}

func (sc *proxyScanner) until(delimiters string) string {
	end := strings.IndexAny(sc.rest, delimiters)
	if end < 0 {
		end = len(sc.rest)
	}
	word := sc.rest[:end]
	sc.rest = sc.rest[end:]
	return word
}

// argument reads the argument of an option; "" where there is none.
func (sc *proxyScanner) argument() (string, error) {
	switch sc.skipSpace() {
	case 0, ':', '@', '-':
		return "", nil
	}
	return sc.token(separators)
}

func (p *Proxy) setOption(letter byte, argument string) (err error) {
	mode := strings.IndexByte(modeLetters, letter)
	if mode >= 0 || letter == 's' {
		if argument != "" {
			return fmt.Errorf("unexpected argument %q", argument)
		}
		if letter == 's' {
			p.Secure = true
		} else {
			p.Mode = ProxyMode(mode)
		}
		return nil
	}
	if strings.IndexByte("fpe", letter) < 0 {
		return errors.New("unknown")
	}
	if argument == "" {
		return errors.New("no argument")
	}
	switch letter {
	case 'f':
		p.Facet, err = unescape(argument, 0)
	case 'p':
		p.Protocol, err = parseVersion(argument)
	case 'e':
		p.Encoding, err = parseVersion(argument)
	}
	return err
}

func parseVersion(s string) (Version, error) {
	major, minor, _ := strings.Cut(strings.TrimLeft(s, space), ".")
	ma, err1 := strconv.ParseUint(major, 10, 8)
	mi, err2 := strconv.ParseUint(minor, 10, 8)
	if err1 != nil || err2 != nil {
		return Version{}, fmt.Errorf("malformed version %q", s)
	}
	return Version{byte(ma), byte(mi)}, nil
}

// adapterID reads what follows the '@'; nothing but white space may come
// after it.
func (sc *proxyScanner) adapterID() (string, error) {
	if sc.skipSpace() == 0 {
		return "", errors.New("missing adapter id")
	}
	word, err := sc.token(space)
	if err != nil {
		return "", fmt.Errorf("adapter id: %w", err)
	}
	if sc.skipSpace() != 0 {
		return "", fmt.Errorf("characters %q after the adapter id", sc.rest)
	}
	id, err := unescape(word, 0)
	if err == nil && id == "" {
		err = errors.New("empty adapter id")
	}
	return id, err
}
