// Package backup is the file that floe backup writes and floe restore reads:
// a line about where it comes from, the content of a cluster, and a checksum
// over all of it. Whoever copies one reads it to its end and so knows that it
// is whole.
package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A backup is eight bytes of magic, the format and the length of the header
// (4 bytes each, big endian), the header as JSON, the content as
// fsm.View.WriteBackup writes it, and a SHA-256 of all before it.
const (
	magic     = "floeback"
	format    = 1
	prefix    = len(magic) + 8
	maxHeader = 64 << 10
)

// Overhead bounds what a backup has beside its content, in bytes.
const Overhead = prefix + maxHeader + sha256.Size

// The kinds of error of a file that is no good backup.
var (
	ErrForeign = errors.New("not a backup of floe")
	ErrNewer   = errors.New("the backup is of a format that this program does not know; run a newer one")
	ErrDamaged = errors.New("the backup is torn or damaged, and nothing of it can be used")
)

// Header says what a backup holds and where it comes from.
type Header struct {
	// Program is the version of the program that made it, Node the id of the node.
	Program string `json:"program"`
	Node    string `json:"node"`
	// ClusterID is that of the cluster, ClusterVersion its version.
	ClusterID      string `json:"cluster_id"`
	ClusterVersion uint32 `json:"cluster_version"`
	// Index is the Raft index the content stands at, Digest its digest.
	Index  uint64 `json:"index"`
	Digest string `json:"digest"`
	// Time is when it was made, by the node's clock, as RFC 3339 in UTC.
	Time string `json:"time"`
	// How much of each it holds.
	Topics      int `json:"topics"`
	Links       int `json:"links"`
	Subscribers int `json:"subscribers"`
	Routes      int `json:"routes"`
	MEIDs       int `json:"meids"`
}

// Write writes a backup whose content is what the function writes.
func Write(to io.Writer, h Header, content func(io.Writer) error) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := sha256.New()
	both := io.MultiWriter(to, sum)
	head := binary.BigEndian.AppendUint32([]byte(magic), format)
	head = binary.BigEndian.AppendUint32(head, uint32(len(text)))
	if _, err := both.Write(append(head, text...)); err != nil {
		return err
	}
	if err := content(both); err != nil {
		return err
	}
	_, err = to.Write(sum.Sum(nil))
	return err
}

// Copy copies a backup as it is, and returns its header and length in bytes
// once it is known to be whole. Errors: [ErrForeign], [ErrNewer],
// [ErrDamaged], and those of reading and writing. What was written before an
// error is of no use.
func Copy(to io.Writer, from io.Reader) (Header, int64, error) {
	c := &copier{to: to, sum: sha256.New()}
	in := io.TeeReader(from, c)
	h, err := readHeader(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	switch {
	case c.err != nil:
		return Header{}, c.n, c.err
	case err != nil:
		return Header{}, c.n, err
	case !c.good():
		return Header{}, c.n, fmt.Errorf("%w: its checksum does not fit", ErrDamaged)
	}
	return h, c.n, nil
}

// Content returns header and content of a backup that is in memory. Errors
// are those of [Copy].
func Content(b []byte) (Header, []byte, error) {
	h, _, err := Copy(io.Discard, bytes.NewReader(b))
	if err != nil {
		return Header{}, nil, err
	}
	start := prefix + int(binary.BigEndian.Uint32(b[len(magic)+4:]))
	return h, b[start : len(b)-sha256.Size], nil
}

func readHeader(in io.Reader) (Header, error) {
	var h Header
	start := make([]byte, prefix)
	n, err := io.ReadFull(in, start)
	if string(start[:min(n, len(magic))]) != magic[:min(n, len(magic))] || n == 0 && ended(err) {
		return h, ErrForeign
	}
	if err != nil {
		return h, torn(err)
	}
	if f := binary.BigEndian.Uint32(start[len(magic):]); f != format {
		return h, fmt.Errorf("%w (format %d, known is %d)", ErrNewer, f, format)
	}
	size := binary.BigEndian.Uint32(start[len(magic)+4:])
	if size > maxHeader {
		return h, fmt.Errorf("%w: a header of %d bytes", ErrDamaged, size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(in, text); err != nil {
		return h, torn(err)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("%w: its header can't be read", ErrDamaged)
	}
	return h, nil
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func torn(err error) error {
	if ended(err) {
		return fmt.Errorf("%w: it ends in its header", ErrDamaged)
	}
	return err
}

// copier passes on what it is given, and sums up all but the last 32 bytes.
type copier struct {
	to   io.Writer
	sum  hash.Hash
	n    int64
	tail []byte
	err  error
}

func (c *copier) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	if _, c.err = c.to.Write(b); c.err != nil {
		return 0, c.err
	}
	c.tail = append(c.tail, b...)
	if over := len(c.tail) - sha256.Size; over > 0 {
		c.sum.Write(c.tail[:over])
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return len(b), nil
}

func (c *copier) good() bool { return bytes.Equal(c.sum.Sum(nil), c.tail) }
