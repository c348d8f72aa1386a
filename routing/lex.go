package routing

import (
	"iter"
	"strings"
)

// maxFields is how many fields the library splits a record into; the last
// one keeps the rest.
const maxFields = 128

// line is one line of a text, without blanks around it.
type line struct {
	field
	number int // from 1
}

// field is a part of a line and where it stands.
type field struct {
	text   string
	column int // of the first byte, from 1, in bytes
}

// isBlank is C's isspace in the C locale.
func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func (f field) trim() field {
	i, j := 0, len(f.text)
	for i < j && isBlank(f.text[i]) {
		i++
	}
	for j > i && isBlank(f.text[j-1]) {
		j--
	}
	return field{f.text[i:j], f.column + i}
}

// hash says what the first # of a field does.
type hash uint8

const (
	noHash  hash = iota
	comment      // it follows a blank: the field is cut there
	glued        // it follows text, or opens the field: nothing is cut
)

// clip takes off blanks and a comment, as clip in the library's
// rt_generic_static.c does: only the first # of a field can open one, and a
// field that begins with # keeps even the blanks at its end.
func (f field) clip() (field, hash) {
	t := f.trim()
	i := strings.IndexByte(t.text, '#')
	switch {
	case i == 0:
		return field{f.text[t.column-f.column:], t.column}, glued
	case i < 0:
		return t, noHash
	case !isBlank(t.text[i-1]):
		return t, glued
	}
	f = t
	f.text = f.text[:i]
	return f.trim(), comment
}

// split appends the parts of f between separators to dst, at most limit: the
// last one keeps the rest. An empty field has no parts.
func (f field) split(dst []field, sep byte, limit int) []field {
	if f.text == "" {
		return dst
	}
	for n := 1; n < limit; n++ {
		i := strings.IndexByte(f.text, sep)
		if i < 0 {
			break
		}
		dst = append(dst, field{f.text[:i], f.column})
		f.text, f.column = f.text[i+1:], f.column+i+1
	}
	return append(dst, f)
}

// lines yields the lines of a text up to its first NUL, trimmed. LF ends a
// line; with cr, CR and CRLF do as well.
func lines(text string, cr bool) iter.Seq[line] {
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	ends := "\n"
	if cr {
		ends = "\r\n"
	}
	return func(yield func(line) bool) {
		for n := 1; text != ""; n++ {
			i := strings.IndexAny(text, ends)
			rest := ""
			l := text
			if i >= 0 {
				l, rest = text[:i], text[i+1:]
				if cr && text[i] == '\r' {
					rest = strings.TrimPrefix(rest, "\n")
				}
			}
			if !yield(line{field{l, 1}.trim(), n}) {
				return
			}
			text = rest
		}
	}
}

// atoi is C's: blanks, a sign, digits; the rest is ignored and no digits are
// 0. It saturates at 64 bits and keeps the low 32, as glibc's does.
func atoi(s string) int32 {
	s = field{text: s}.trim().text
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	n := uint64(0)
	for i := 0; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + uint64(s[i]-'0')
		if n >= 1<<63 {
			return saturated(negative)
		}
	}
	if negative {
		n = -n
	}
	return int32(uint32(n))
}

func saturated(negative bool) int32 {
	if negative {
		return 0 // the low half of the least 64-bit number
	}
	return -1 // that of the greatest
}
