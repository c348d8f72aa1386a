package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// Bounds of what a gossip connection may announce. memberlist itself makes
// room for a million nodes and 20 MiB before it has read any of it, for 127
// connections at a time.
const (
	gossipNodesMax = 4096
	gossipStateMax = 256 << 10
	gossipHeadMax  = 128 // of the header that announces, in bytes
)

// Message types and the label's mark of memberlist's net.go, as far as they
// open a stream.
const (
	gossipPing      = 0
	gossipPushPull  = 6
	gossipEncrypted = 10
	gossipLabelled  = 244
)

var errGossip = errors.New("bad gossip")

// gossipConn is an accepted gossip connection. Its first read looks at what
// is announced, and fails where that is out of bounds.
type gossipConn struct {
	*conn
	complain func(error)
	once     sync.Once
	err      error
	seen     bytes.Buffer // what was looked at and not yet read
}

// Read reads once.
func (c *gossipConn) Read(b []byte) (int, error) {
	c.once.Do(func() {
		c.err = checkGossip(io.TeeReader(io.LimitReader(c.conn, 2+255+1+gossipHeadMax), &c.seen))
		if errors.Is(c.err, errGossip) {
			c.complain(c.err)
		}
	})
	if c.err != nil {
		return 0, c.err
	}
	if c.seen.Len() > 0 {
		return c.seen.Read(b)
	}
	return c.conn.Read(b)
}

// checkGossip reads the beginning of a stream: perhaps a label, a type, and
// the header of a push/pull. What is encrypted tells nothing before
// memberlist has verified it.
func checkGossip(r io.Reader) error {
	kind, err := readGossipType(r)
	if err != nil {
		return err
	}
	switch kind {
	case gossipPing, gossipEncrypted:
		return nil
	case gossipPushPull:
		return checkPushPull(r)
	}
	return fmt.Errorf("%w: a stream of type %d", errGossip, kind) // floe sends none, nor compressed ones
}

func readGossipType(r io.Reader) (byte, error) {
	var b [255]byte
	if _, err := io.ReadFull(r, b[:1]); err != nil || b[0] != gossipLabelled {
		return b[0], err
	}
	if _, err := io.ReadFull(r, b[:1]); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(r, b[:b[0]]); err != nil {
		return 0, err
	}
	_, err := io.ReadFull(r, b[:1])
	return b[0], err
}

func checkPushPull(r io.Reader) error {
	var head struct{ Nodes, UserStateLen int }
	if err := codec.NewDecoder(r, &codec.MsgpackHandle{}).Decode(&head); err != nil {
		return fmt.Errorf("%w: header of a state: %w", errGossip, err)
	}
	if head.Nodes < 0 || head.Nodes > gossipNodesMax || head.UserStateLen < 0 || head.UserStateLen > gossipStateMax {
		return fmt.Errorf("%w: a state of %d nodes and %d bytes, the limits are %d and %d", errGossip, head.Nodes, head.UserStateLen, gossipNodesMax, gossipStateMax)
	}
	return nil
}
