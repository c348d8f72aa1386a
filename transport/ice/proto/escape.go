package proto

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// escape writes s the way Ice prints identities, facets and adapter ids in
// its default mode (Ice.ToStringMode=Unicode): control characters and quotes
// escaped, non-ASCII kept. special, if not 0, is escaped with a backslash.
// Source: IceUtilInternal::escapeString.
func escape(s string, special byte) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = !needsEscape(s[i], special)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		escapeByte(&b, s[i], special)
	}
	return b.String()
}

func needsEscape(c, special byte) bool {
	return c < 32 || c == 127 || c == '\\' || c == '\'' || c == '"' || (special != 0 && c == special)
}

// controls pairs the letters of short escapes with their characters.
const (
	controlLetters = "abfnrtv"
	controlChars   = "\a\b\f\n\r\t\v"
)

func escapeByte(b *strings.Builder, c, special byte) {
	if !needsEscape(c, special) {
		b.WriteByte(c)
		return
	}
	if i := strings.IndexByte(controlChars, c); i >= 0 {
		b.WriteByte('\\')
		b.WriteByte(controlLetters[i])
		return
	}
	if c < 32 || c == 127 {
		fmt.Fprintf(b, "\\u%04x", c)
		return
	}
	b.WriteByte('\\')
	b.WriteByte(c)
}

// unescape undoes escape; it reads the escapes of all of Ice's modes. A
// backslash before a character without meaning stays. Source:
// IceUtilInternal::unescapeString.
func unescape(s string, special byte) (string, error) {
	if strings.IndexFunc(s, func(r rune) bool { return r == '\\' || r < 32 || r == 127 }) < 0 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		var err error
		if s[i] == '\\' && i+1 < len(s) {
			out, i, err = unescapeOne(out, s, i+1, special)
		} else {
			out, err = plainByte(out, s, i)
			i++
		}
		if err != nil {
			return "", err
		}
	}
	return string(out), nil
}

func plainByte(out []byte, s string, i int) ([]byte, error) {
	if s[i] < 32 || s[i] == 127 {
		return nil, fmt.Errorf("control character %d at byte %d", s[i], i)
	}
	return append(out, s[i]), nil
}

// unescapeOne decodes the escape whose backslash is before s[i] and returns
// the position after it.
func unescapeOne(out []byte, s string, i int, special byte) ([]byte, int, error) {
	c := s[i]
	if j := strings.IndexByte(controlLetters, c); j >= 0 {
		return append(out, controlChars[j]), i + 1, nil
	}
	switch c {
	case '\\', '\'', '"', '?':
		return append(out, c), i + 1, nil
	case 'u':
		return unescapeRune(out, s, i+1, 4)
	case 'U':
		return unescapeRune(out, s, i+1, 8)
	case 'x':
		v, n := digits(s[i+1:], 16, 2)
		if n == 0 {
			return nil, 0, errors.New(`escape \x without a hex digit`)
		}
		return append(out, byte(v)), i + 1 + n, nil
	case '0', '1', '2', '3', '4', '5', '6', '7':
		v, n := digits(s[i:], 8, 3)
		if v > 255 {
			return nil, 0, fmt.Errorf(`octal escape \%s out of range`, s[i:i+n])
		}
		return append(out, byte(v)), i + n, nil
	}
	if special == 0 || c != special {
		out = append(out, '\\')
	}
	out, err := plainByte(out, s, i)
	return out, i + 1, err
}

func unescapeRune(out []byte, s string, i, length int) ([]byte, int, error) {
	v, n := digits(s[i:], 16, length)
	if n < length {
		return nil, 0, errors.New("universal character name with too few hex digits")
	}
	if v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		return nil, 0, fmt.Errorf("%#x is no valid code point", v)
	}
	return utf8.AppendRune(out, rune(v)), i + n, nil
}

// digits reads up to limit digits of the given base and returns their value
// and number.
func digits(s string, base uint64, limit int) (v uint64, n int) {
	for n < limit && n < len(s) {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] < '0' || d < 0 || uint64(d) >= base {
			break
		}
		v = v*base + uint64(d)
		n++
	}
	return v, n
}
