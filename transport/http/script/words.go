package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// word reads one word; the reader stands before it.
func (r *Reader) word() (Word, error) {
	c, err := r.read()
	if err != nil {
		return Word{}, err
	}
	if c == '"' || c == '\'' {
		text, err := r.quoted(c)
		return Word{Text: text, Quoted: true}, err
	}
	r.unread(c)
	text, err := r.bare()
	return Word{Text: text}, err
}

// bare reads up to white space, a semicolon or a backslash that ends a line.
func (r *Reader) bare() (string, error) {
	var b []byte
	for len(b) <= MaxWord {
		c, err := r.read()
		if errors.Is(err, io.EOF) {
			return string(b), nil
		}
		if err != nil {
			return "", err
		}
		end := c == '\n' || c == ';' || blank(c)
		if c == '\\' && !escaped(b) {
			end, err = r.continued()
		}
		if err != nil {
			return "", err
		}
		if end && c != '\\' {
			r.unread(c)
		}
		if end {
			return string(b), nil
		}
		b = append(b, c)
	}
	return "", r.recover(r.tooLong(r.line))
}

// escaped tells whether an odd number of backslashes ends b.
func escaped(b []byte) bool {
	return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 1
}

// continued is called behind a backslash and tells whether the line ends
// there; if so, the end of the line is passed.
func (r *Reader) continued() (bool, error) {
	var seen []byte
	for {
		c, err := r.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		if c == '\n' {
			return true, nil
		}
		seen = append(seen, c)
		if !blank(c) {
			break
		}
	}
	for i := len(seen) - 1; i >= 0; i-- {
		r.unread(seen[i])
	}
	return false, nil
}

// quoted reads up to the closing quote.
func (r *Reader) quoted(quote byte) (string, error) {
	var b []byte
	start := r.line
	for len(b) <= MaxWord {
		c, err := r.read()
		if errors.Is(err, io.EOF) {
			return "", &Error{Line: start, Text: fmt.Sprintf("the quote %c is never closed", quote)}
		}
		if err != nil {
			return "", err
		}
		if c == quote {
			return string(b), nil
		}
		if c == '\\' && quote == '"' {
			c = r.escaped()
		}
		b = append(b, c)
	}
	return "", r.recover(r.tooLong(start))
}

// escaped returns what a backslash in double quotes stands for: itself,
// unless a quote or another backslash follows.
func (r *Reader) escaped() byte {
	c, err := r.read()
	if err == nil && (c == '"' || c == '\\') {
		return c
	}
	if err == nil {
		r.unread(c)
	}
	return '\\'
}

// comment is called behind a slash and tells whether it opened a comment; if
// so, the comment is passed.
func (r *Reader) comment() (bool, error) {
	start := r.line
	c, err := r.read()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	switch {
	case err != nil:
		return false, err
	case c == '/':
		return true, r.lineComment()
	case c == '*':
		return true, r.blockComment(start)
	}
	r.unread(c)
	return false, nil
}

func (r *Reader) lineComment() error {
	for {
		c, err := r.read()
		if err != nil || c == '\n' {
			return err
		}
	}
}

func (r *Reader) blockComment(start int) error {
	star := false
	for {
		c, err := r.read()
		if errors.Is(err, io.EOF) {
			return &Error{Line: start, Text: "the comment /* is never closed"}
		}
		if err != nil || star && c == '/' {
			return err
		}
		star = c == '*'
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

func (r *Reader) tooLong(line int) error {
	return &Error{Line: line, Text: fmt.Sprintf("a word of more than %d bytes", MaxWord)}
}

// recover skips to the end of the line and returns err.
func (r *Reader) recover(err error) error {
	if end := r.lineComment(); end != nil && !errors.Is(end, io.EOF) {
		return end
	}
	return err
}
