package proto

import (
	"encoding/binary"
	"fmt"
)

// Values of the mode byte of a request.
const (
	ModeNormal      byte = 0
	ModeNonmutating byte = 1 // sent by old clients in place of idempotent
	ModeIdempotent  byte = 2
)

// Request is one decoded request. All byte slices alias the message it was
// parsed from. The zero value is ready for ParseRequest.
type Request struct {
	ID        int32 // 0: oneway, never answered
	Identity  Identity
	Facet     string // empty: the default facet
	Operation []byte
	Mode      byte // not checked, any value may come
	Context   Context

	// Target holds the encoded identity and facet path.
	Target []byte
	// Encaps is the whole parameter encapsulation, its six-byte header
	// included. It may be of any encoding version. nil after ErrEncapsulation.
	Encaps []byte
	// Tail holds the bytes from the operation through the end of Encaps, to
	// be sent to others unchanged. nil after ErrEncapsulation.
	Tail []byte
}

// Oneway reports whether the sender expects no reply.
func (r *Request) Oneway() bool { return r.ID == 0 }

// ParseRequest decodes the body of a Request message into r, which may be used
// again and again: names equal to those of the previous request cost no
// allocation. Bytes after the encapsulation are ignored.
//
// An error that wraps ErrEncapsulation leaves r filled up to the context, so
// that the request can be answered; any other one wraps ErrProtocol.
func ParseRequest(body []byte, r *Request) error {
	d := Decoder{buf: body, encoding: Encoding10}
	r.ID = d.Int32()
	return r.parse(&d)
}

// parse decodes what a request and an entry of a batch have in common.
func (r *Request) parse(d *Decoder) error {
	r.Encaps, r.Tail = nil, nil
	start := d.off
	name, category, facet := d.Bytes(), d.Bytes(), d.facetPath()
	tail := d.off
	r.Operation = d.Bytes()
	r.Mode = d.Byte()
	r.Context = d.Context()
	if d.err != nil {
		return protocolError("request header: %w", d.err)
	}
	r.Target = d.buf[start:tail:tail]
	reuse(&r.Identity.Name, name)
	reuse(&r.Identity.Category, category)
	reuse(&r.Facet, facet)
	r.Encaps = d.Encapsulation()
	if d.err != nil {
		return fmt.Errorf("%w: %w", ErrEncapsulation, d.err)
	}
	r.Tail = d.Since(tail)
	return nil
}

// reuse sets *s to b. Most requests of a connection go to the same object, so
// the string of the last one is usually the right one.
func reuse(s *string, b []byte) {
	if *s != string(b) {
		*s = string(b)
	}
}

// AppendRequestPrefix appends the beginning of a Request message up to the
// operation: header, id and target (see AppendTarget). The header's size
// counts tailLen further bytes, which the caller sends after it; they are
// operation, mode, context and encapsulation, such as Request.Tail.
func AppendRequestPrefix(dst []byte, id int32, target []byte, tailLen int) []byte {
	size := HeaderSize + 4 + len(target) + tailLen
	dst = append(dst, 'I', 'c', 'e', 'P', 1, 0, 1, 0, byte(MessageRequest), CompressionNone)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(id))
	return append(dst, target...)
}

// AppendTail appends operation, mode, context and a whole parameter
// encapsulation: the form of Request.Tail.
func AppendTail[T string | []byte](dst []byte, operation T, mode byte, context Context, encaps []byte) []byte {
	dst = AppendString(dst, operation)
	dst = append(dst, mode)
	dst = AppendContext(dst, context)
	return append(dst, encaps...)
}

// AppendRequest appends a whole Request message. encaps nil stands for no
// parameters in encoding 1.1.
func AppendRequest(dst []byte, r *Request) []byte {
	start := len(dst)
	dst = AppendHeader(dst, Header{Type: MessageRequest})
	dst = AppendInt32(dst, r.ID)
	dst = AppendTarget(dst, r.Identity, r.Facet)
	if r.Encaps == nil {
		dst = AppendTail(dst, r.Operation, r.Mode, r.Context, nil)
		dst = AppendEmptyEncapsulation(dst, Encoding11)
	} else {
		dst = AppendTail(dst, r.Operation, r.Mode, r.Context, r.Encaps)
	}
	return PatchSize(dst, start, 0)
}
