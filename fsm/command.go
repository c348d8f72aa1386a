package fsm

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// RequestID tells one request from all others. A request that is proposed
// again after an unknown outcome carries the same id and takes effect once.
// The zero id is remembered by nobody.
type RequestID [16]byte

// Command is what one log entry carries: an op, and all that the proposer
// has to say about it.
type Command struct {
	// Request is the request's id, drawn at random by whoever took it.
	Request RequestID
	// Base is the proposer's applied index when it took the request. A
	// command older than what the state remembers is refused as
	// [ErrForgotten] if it is a repeat.
	Base uint64
	// Repeat says that the command was handed to Raft before.
	Repeat bool
	// Time is the proposer's clock in nanoseconds since 1970, for people.
	Time int64
	// From says who asked, for people: a face and an address.
	From string
	// Op is the change.
	Op Op
}

// formatMsgpack is the first byte of a command: an envelope, the kind and
// the op, each in canonical msgpack.
const formatMsgpack = 1

// MaxCommand is the largest encoded command, in bytes.
const MaxCommand = 8 << 20

type envelope struct {
	Request []byte `codec:"q,omitempty"`
	Base    uint64 `codec:"b,omitempty"`
	Repeat  bool   `codec:"r,omitempty"`
	Time    int64  `codec:"t,omitempty"`
	From    string `codec:"f,omitempty"`
}

// handle encodes maps in key order and bytes apart from text, so that equal
// values have equal bytes.
var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.Canonical = true
	h.RawToString = true
	h.MaxInitLen = 1 << 16 // a byte string is read in pieces of this size and copied for each; a list gets so much room at once, whatever its length claims
	return h
}()

// Encode returns the command's bytes.
func (c Command) Encode() ([]byte, error) {
	var buf bytes.Buffer
	if stage, large := c.Op.(StageRoutes); large {
		buf.Grow(sizeOf(stage.Blocks) + 1<<10)
	}
	buf.WriteByte(formatMsgpack)
	enc := codec.NewEncoder(&buf, handle)
	e := envelope{Base: c.Base, Repeat: c.Repeat, Time: c.Time, From: c.From}
	if c.Request != (RequestID{}) {
		e.Request = c.Request[:]
	}
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	if err := encodeOp(enc, c.Op); err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	if buf.Len() > MaxCommand {
		return nil, fmt.Errorf("encode command: %d bytes are more than a log entry holds (%d); split the change", buf.Len(), MaxCommand)
	}
	return buf.Bytes(), nil
}

func encodeOp(enc *codec.Encoder, op Op) error {
	if err := enc.Encode(uint16(op.Kind())); err != nil {
		return err
	}
	batch, ok := op.(Batch)
	if !ok {
		return enc.Encode(op)
	}
	if err := enc.Encode(len(batch.Ops)); err != nil {
		return err
	}
	for _, part := range batch.Ops {
		if part.Kind() == KindBatch {
			return errors.New("a batch inside a batch")
		}
		if err := encodeOp(enc, part); err != nil {
			return err
		}
	}
	return nil
}

// ErrCommand is the kind of error of bytes that are no command this program
// can read.
var ErrCommand = errors.New("not a command this program can read")

// DecodeCommand reads a command. The error is an [ErrCommand] in each case.
func DecodeCommand(b []byte) (Command, error) {
	if len(b) == 0 || len(b) > MaxCommand {
		return Command{}, fmt.Errorf("%w: %d bytes", ErrCommand, len(b))
	}
	if b[0] != formatMsgpack {
		return Command{}, fmt.Errorf("%w: format %d (this program reads %d)", ErrCommand, b[0], formatMsgpack)
	}
	dec := codec.NewDecoderBytes(b[1:], handle)
	var e envelope
	if err := dec.Decode(&e); err != nil {
		return Command{}, fmt.Errorf("%w: envelope: %v", ErrCommand, err)
	}
	c := Command{Base: e.Base, Repeat: e.Repeat, Time: e.Time, From: e.From}
	if len(e.Request) != 0 && copy(c.Request[:], e.Request) != len(c.Request) {
		return Command{}, fmt.Errorf("%w: request id of %d bytes", ErrCommand, len(e.Request))
	}
	var err error
	if c.Op, err = decodeOp(dec, true); err != nil {
		return Command{}, fmt.Errorf("%w: %v", ErrCommand, err)
	}
	if dec.NumBytesRead() != len(b)-1 {
		return Command{}, fmt.Errorf("%w: bytes after its end", ErrCommand)
	}
	return c, nil
}

// readers makes an op of each kind from its bytes.
var readers = map[Kind]func(*codec.Decoder) (Op, error){
	KindInit:          read[Init],
	KindBarrier:       read[Barrier],
	KindCreateTopic:   read[CreateTopic],
	KindDestroyTopic:  read[DestroyTopic],
	KindLink:          read[Link],
	KindUnlink:        read[Unlink],
	KindSubscribe:     read[Subscribe],
	KindUnsubscribe:   read[Unsubscribe],
	KindReap:          read[Reap],
	KindSetMember:     read[SetMember],
	KindDropMember:    read[DropMember],
	KindSetCluster:    read[SetCluster],
	KindDropCluster:   read[DropCluster],
	KindRaiseVersion:  read[RaiseVersion],
	KindChangeRoutes:  read[ChangeRoutes],
	KindStageRoutes:   read[StageRoutes],
	KindCommitRoutes:  read[CommitRoutes],
	KindRegisterApp:   read[RegisterApp],
	KindForgetApps:    read[ForgetApps],
	KindAckApps:       read[AckApps],
	KindSetServing:    read[SetServing],
	KindSetRelay:      read[SetRelay],
	KindSetProbed:     read[SetProbed],
	KindChangeFacts:   read[ChangeFacts],
	KindStageRestore:  read[StageRestore],
	KindCommitRestore: read[CommitRestore],
	KindSetToken:      read[SetToken],
	KindDropToken:     read[DropToken],
	KindSpendToken:    read[SpendToken],
	KindRevert:        read[Revert],
}

func read[T Op](dec *codec.Decoder) (Op, error) {
	var op T
	err := dec.Decode(&op)
	return op, err
}

func decodeOp(dec *codec.Decoder, batch bool) (Op, error) {
	var kind Kind
	if err := dec.Decode(&kind); err != nil {
		return nil, fmt.Errorf("kind: %v", err)
	}
	if kind == KindBatch && batch {
		return decodeBatch(dec)
	}
	reader := readers[kind]
	if reader == nil {
		return nil, fmt.Errorf("kind %d is unknown", kind)
	}
	op, err := reader(dec)
	if err != nil {
		return nil, fmt.Errorf("kind %d: %v", kind, err)
	}
	return op, nil
}

func decodeBatch(dec *codec.Decoder) (Op, error) {
	var n int
	if err := dec.Decode(&n); err != nil || n < 0 || n > MaxCommand {
		return nil, fmt.Errorf("batch of %d: %v", n, err)
	}
	var b Batch
	for range n {
		op, err := decodeOp(dec, false)
		if err != nil {
			return nil, err
		}
		b.Ops = append(b.Ops, op)
	}
	return b, nil
}

// Encode returns the result's bytes, for its way between nodes.
func (r Result) Encode() ([]byte, error) {
	var b []byte
	err := codec.NewEncoderBytes(&b, handle).Encode(r)
	return b, err
}

// DecodeResult reads what [Result.Encode] wrote.
func DecodeResult(b []byte) (Result, error) {
	var r Result
	if err := codec.NewDecoderBytes(b, handle).Decode(&r); err != nil {
		return Result{}, fmt.Errorf("decode result: %w", err)
	}
	return r, nil
}
