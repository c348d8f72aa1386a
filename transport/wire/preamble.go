package wire

import (
	"errors"
	"fmt"
	"io"
)

// The preamble, both ways: magic, version, kind, status.
//
// The first byte has its top bit set and is no TLS record type, so no HTTP
// method, "IceP" or TLS hello begins like this; read as RMR's frame length it
// is over a gigabyte or negative.
const (
	preambleSize = 8
	magic        = "\xf1FLOE"
	version      = 2
	plainVersion = 1 // without records, as programs before 0.2 speak
)

// kind says what a connection carries.
type kind byte

const (
	kindRaft   kind = 1
	kindGossip kind = 2
	kindRPC    kind = 3
	kindEvents kind = 4
)

func (k kind) String() string {
	switch k {
	case kindRaft:
		return "raft"
	case kindGossip:
		return "gossip"
	case kindRPC:
		return "rpc"
	case kindEvents:
		return "events"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// status is the acceptor's answer; a dialler sends statusOK.
type status byte

const (
	statusOK      status = 0
	statusVersion status = 1 // the acceptor does not speak this version
	statusKind    status = 2 // the acceptor does not know this kind
	statusClosed  status = 3 // known, but nobody serves it (yet, or any more)
)

// errNoPreamble: the bytes are those of another protocol.
var errNoPreamble = errors.New("not floe's peer protocol")

// preamble is one decoded preamble.
type preamble struct {
	version byte
	kind    kind
	status  status
}

func (p preamble) bytes() [preambleSize]byte {
	var b [preambleSize]byte
	copy(b[:], magic)
	b[5], b[6], b[7] = p.version, byte(p.kind), byte(p.status)
	return b
}

func parsePreamble(b []byte) (preamble, error) {
	if len(b) != preambleSize || string(b[:len(magic)]) != magic {
		return preamble{}, errNoPreamble
	}
	return preamble{version: b[5], kind: kind(b[6]), status: status(b[7])}, nil
}

// readPreamble takes exactly one preamble from r. It gives up at the first
// chunk that can't be the magic instead of waiting for all eight bytes. n is
// how many bytes had come.
func readPreamble(r io.Reader) (p preamble, n int, err error) {
	var b [preambleSize]byte
	for n < len(b) {
		m, err := r.Read(b[n:])
		n += m
		seen := min(n, len(magic))
		if string(b[:seen]) != magic[:seen] {
			return preamble{}, n, errNoPreamble
		}
		if err != nil && n < len(b) {
			return preamble{}, n, cut(err, n)
		}
	}
	p, err = parsePreamble(b[:])
	return p, n, err
}

// cut names an end of file after n bytes.
func cut(err error, n int) error {
	if n > 0 && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// greet is the dialler's half: it returns once the acceptor has taken the
// connection, so that whatever fails here was certainly not sent.
func greet(rw io.ReadWriter, v byte, k kind) error {
	hello := preamble{version: v, kind: k}.bytes()
	if _, err := rw.Write(hello[:]); err != nil {
		return fmt.Errorf("send preamble: %w", err)
	}
	answer, n, err := readPreamble(rw)
	if errors.Is(err, io.EOF) && n == 0 {
		return errors.New("closed by the peer before it answered (at its connection limit, or no floe peer port)")
	}
	if errors.Is(err, errNoPreamble) {
		return fmt.Errorf("%w: name a peer port, which is 7400 unless set", err)
	}
	if err != nil {
		return fmt.Errorf("read preamble: %w", err)
	}
	return answer.refusal(v, k)
}

// errOlder: the peer speaks an older version, and said so.
var errOlder = fmt.Errorf("peer speaks wire version %d", plainVersion)

// refusal is what an answer to a preamble of version v and kind k means.
func (p preamble) refusal(v byte, k kind) error {
	switch {
	case p.status == statusOK && p.kind == k && p.version == v:
		return nil
	case p.status == statusVersion && p.version == plainVersion && v > plainVersion:
		return errOlder
	case p.status == statusVersion:
		return fmt.Errorf("peer speaks wire version %d, this program %d", p.version, version)
	case p.status == statusKind:
		return fmt.Errorf("peer does not know %s connections", k)
	case p.status == statusClosed:
		return fmt.Errorf("peer does not serve %s connections now", k)
	}
	return fmt.Errorf("peer answered with version %d, %s, status %d", p.version, p.kind, byte(p.status))
}
