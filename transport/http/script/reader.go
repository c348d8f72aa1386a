package script

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of one command.
const (
	// MaxWord is the longest word, in bytes.
	MaxWord = 1 << 20
	// MaxWords is the most words of one command.
	MaxWords = 100_000
)

// Word is one word of a command.
type Word struct {
	// Text is the word without its quotes.
	Text string
	// Quoted tells a word in quotes from a bare one.
	Quoted bool
}

// Command is one command of a script.
type Command struct {
	// Line is where its first word stands, from 1.
	Line int
	// Words are its words, at least one.
	Words []Word
}

// Texts returns the texts of the words.
func (c Command) Texts() []string {
	out := make([]string, len(c.Words))
	for i, w := range c.Words {
		out[i] = w.Text
	}
	return out
}

// Error is a command that can't be read.
type Error struct {
	// Line is where the trouble begins, from 1.
	Line int
	// Text says what is wrong.
	Text string
}

// Error names the line and the reason.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Reader reads commands one by one. It is not safe for concurrent use.
type Reader struct {
	src   io.ByteReader
	back  []byte // read too far, to be read again, last one first
	line  int
	words int // of the command under way
}

// NewReader returns a reader of the commands in r. It takes no more from r
// than it needs to find the end of a command if r is an io.ByteReader.
func NewReader(r io.Reader) *Reader {
	src, ok := r.(io.ByteReader)
	if !ok {
		src = bufio.NewReader(r)
	}
	return &Reader{src: src, line: 1}
}

// Line is the line the reader stands in, from 1.
func (r *Reader) Line() int { return r.line }

// Pending tells whether a command has begun and is not yet complete, so that
// a terminal can prompt for its continuation.
func (r *Reader) Pending() bool { return r.words > 0 }

// Next returns the next command. Errors: io.EOF at the end, an [Error] for a
// command that can't be read (the next call goes on behind it), or the
// source's own.
func (r *Reader) Next() (Command, error) {
	defer func() { r.words = 0 }()
	var c Command
	for {
		end, err := r.skip()
		if errors.Is(err, io.EOF) && len(c.Words) > 0 {
			return c, nil
		}
		if err != nil {
			return Command{}, err
		}
		if end && len(c.Words) > 0 {
			return c, nil
		}
		if end {
			continue
		}
		if len(c.Words) == 0 {
			c.Line = r.line
		}
		w, err := r.word()
		if err != nil {
			return Command{}, err
		}
		if len(c.Words) == MaxWords {
			return Command{}, r.recover(&Error{Line: c.Line, Text: fmt.Sprintf("more than %d words in one command", MaxWords)})
		}
		c.Words = append(c.Words, w)
		r.words++
	}
}

// All reads every command of a script up to the first error.
func All(text string) ([]Command, error) {
	r := NewReader(strings.NewReader(text))
	var out []Command
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

func (r *Reader) read() (byte, error) {
	c, err := r.take()
	if c == '\n' && err == nil {
		r.line++
	}
	return c, err
}

func (r *Reader) take() (byte, error) {
	if n := len(r.back); n > 0 {
		c := r.back[n-1]
		r.back = r.back[:n-1]
		return c, nil
	}
	return r.src.ReadByte()
}

func (r *Reader) unread(c byte) {
	if c == '\n' {
		r.line--
	}
	r.back = append(r.back, c)
}

// skip passes blanks and comments and stands before a word, or behind the
// end of a command.
func (r *Reader) skip() (end bool, err error) {
	for {
		c, err := r.read()
		if err != nil {
			return false, err
		}
		passed := blank(c)
		switch c {
		case '\n', ';':
			return true, nil
		case '/':
			passed, err = r.comment()
		case '\\':
			passed, err = r.continued()
		}
		if err != nil {
			return false, err
		}
		if !passed {
			r.unread(c)
			return false, nil
		}
	}
}
