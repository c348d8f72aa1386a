package proto

import (
	"encoding/binary"
	"fmt"
)

// Batch iterates over the entries of a BatchRequest.
//
//	batch, err := proto.ParseBatch(body)
//	for batch.Next(&req) { ... }
//	if err := batch.Err(); err != nil { close the connection }
type Batch struct {
	d    Decoder
	left int
	read int
	err  error
}

// ParseBatch prepares the reading of the body of a BatchRequest message. An
// error wraps ErrProtocol. The count isn't compared with the length: the
// entries present count, even when some are missing.
func ParseBatch(body []byte) (Batch, error) {
	d := Decoder{buf: body, encoding: Encoding10}
	count := d.Int32()
	if d.err != nil {
		return Batch{}, protocolError("batch: %w", d.err)
	}
	if count < 0 {
		return Batch{}, protocolError("batch of %d requests", count)
	}
	return Batch{d: d, left: int(count)}, nil
}

// Next decodes the next entry into r, whose ID becomes 0, and reports whether
// there was one. It stops at the first broken entry: Err tells.
func (b *Batch) Next(r *Request) bool {
	if b.left == 0 || b.err != nil {
		return false
	}
	b.left--
	r.ID = 0
	if err := r.parse(&b.d); err != nil {
		b.err = fmt.Errorf("%w: batch entry %d: %w", ErrProtocol, b.read, err)
		return false
	}
	b.read++
	return true
}

// Err returns nil when all entries announced were there. Otherwise it wraps
// ErrProtocol: where an entry ends can't be known once it is broken, so the
// connection has to be closed, after the entries before it were executed.
func (b *Batch) Err() error { return b.err }

// BeginBatch appends the header of a BatchRequest message and room for its
// count. It returns dst and where the message begins, for EndBatch.
func BeginBatch(dst []byte) ([]byte, int) {
	start := len(dst)
	dst = AppendHeader(dst, Header{Type: MessageBatchRequest, Size: HeaderSize + 4})
	return append(dst, 0, 0, 0, 0), start
}

// EndBatch sets count and size of the batch begun at start, once its entries
// are appended, each a target (see AppendTarget) and the tail of a request.
// extra is how many bytes of the entries are sent from elsewhere. It returns
// dst.
func EndBatch(dst []byte, start, count, extra int) []byte {
	binary.LittleEndian.PutUint32(dst[start+HeaderSize:], uint32(count))
	return PatchSize(dst, start, extra)
}
