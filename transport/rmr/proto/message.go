package proto

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// HeaderSize is the length of a message header of version 3, in bytes.
const HeaderSize = 280

// Offsets of a message header (struct uta_mhdr in src/rmr/common/include/rmr_agnostic.h).
// What lies between them is unused and zero.
const (
	typeAt    = 0
	lengthAt  = 4
	versionAt = 8
	xidAt     = 12
	sourceAt  = 76
	meidAt    = 140
	flagsAt   = 192 // little endian, unlike the rest
	len0At    = 196
	len1At    = 200
	len2At    = 204
	len3At    = 208
	subIDAt   = 212
	addressAt = 216
)

const (
	// MaxSource is how many bytes Src and SrcIP hold.
	MaxSource = 63
	// MaxMEID is how many bytes MEID holds.
	MaxMEID = 31
	// headerVersion is the only one there is on SI95.
	headerVersion = 3
	// minData1 is how long data 1 is at least: with less of it, an
	// application that forwards the message zeroes the first byte of its payload.
	minData1 = 4
)

// NoSubID is the subscription id of messages that have none.
const NoSubID = -1

// Numbers of messages that route managers and applications exchange.
const (
	TypeTable   = 20 // route manager to application: text of a table
	TypeRequest = 21 // application to route manager: see [TableRequest]
	TypeAck     = 22 // application to route manager: see [Ack]
)

// Message is one message. What Parse stores in slices aliases the frame.
type Message struct {
	// Type is the message type, SubID the subscription id or [NoSubID].
	Type, SubID int32
	// XID is the transaction id: 32 bytes, not always text.
	XID [32]byte
	// Src is the sender as NAME:PORT, SrcIP as ADDRESS:PORT, up to
	// [MaxSource] bytes; both empty: answers come on the same connection.
	Src, SrcIP []byte
	// MEID names the managed element, up to [MaxMEID] bytes; empty: none.
	MEID []byte
	// Flags has [FlagCall] in a call's request.
	Flags uint32
	// Trace is trace data. Data1 begins with the call id, see
	// [Message.CallID]; Data2 is never used.
	Trace, Data1, Data2 []byte
	// Payload is what the message carries.
	Payload []byte
}

// Parse reads a whole frame into m, all fields of which it sets. Bytes behind
// the payload are left alone, as are the version, which makes no difference, and
// everything undefined. Source and MEID end at their first NUL, or one byte
// before the end of their field. The error is a *[HeaderError].
func Parse(frame []byte, m *Message) error {
	size := int64(len(frame))
	if size < MinFrame {
		return &HeaderError{Field: "frame", Value: size, Low: MinFrame, High: math.MaxInt32}
	}
	h := frame[transportHeader:]
	word := func(at int) int64 { return int64(binary.BigEndian.Uint32(h[at:])) }
	len0, len1, len2, len3 := word(len0At), word(len1At), word(len2At), word(len3At)
	if len0 < HeaderSize {
		return &HeaderError{Field: "header", Value: len0, Low: HeaderSize, High: size - transportHeader}
	}
	room := size - transportHeader - len0 - len1 - len2 - len3
	if room < 0 {
		return &HeaderError{Field: "parts", Value: len0 + len1 + len2 + len3, Low: HeaderSize, High: size - transportHeader}
	}
	payload := int64(int32(word(lengthAt)))
	if payload < 0 || payload > room {
		return &HeaderError{Field: "payload", Value: payload, High: room}
	}
	rest := h[len0:]
	cut := func(n int64) (part []byte) {
		part, rest = rest[:n:n], rest[n:]
		return part
	}
	m.Type, m.SubID = int32(word(typeAt)), int32(word(subIDAt))
	copy(m.XID[:], h[xidAt:])
	m.Src, m.SrcIP = text(h[sourceAt:], MaxSource), text(h[addressAt:], MaxSource)
	m.MEID = text(h[meidAt:], MaxMEID)
	m.Flags = binary.LittleEndian.Uint32(h[flagsAt:])
	m.Trace, m.Data1, m.Data2, m.Payload = cut(len1), cut(len2), cut(len3), cut(payload)
	return nil
}

// SourceTooLong tells whether Src or SrcIP of a frame that [Parse] took is
// longer than [MaxSource], so that Parse returned a part of it.
func SourceTooLong(frame []byte) bool {
	for _, at := range [...]int{sourceAt, addressAt} {
		field := frame[transportHeader+at:][:MaxSource+1]
		if bytes.IndexByte(field, 0) < 0 {
			return true
		}
	}
	return false
}

// text is a text of at most n bytes that ends at the first NUL.
func text(field []byte, n int) []byte {
	if end := bytes.IndexByte(field[:n], 0); end >= 0 {
		n = end
	}
	return field[:n:n]
}

// Size is the length of the message's frame, in bytes.
func (m *Message) Size() int64 {
	return MinFrame + int64(len(m.Trace)) + int64(max(minData1, len(m.Data1))) + int64(len(m.Data2)) + int64(len(m.Payload))
}

// Append appends the message's frame. Everything undefined is zero, and data
// 1 has four bytes at least. The error is a *[TextError] or a *[SizeError].
func Append(dst []byte, m *Message) ([]byte, error) {
	dst, err := AppendHead(slices.Grow(dst, int(min(m.Size(), math.MaxInt32))), m)
	if err != nil {
		return dst, err
	}
	return append(dst, m.Payload...), nil
}

// AppendHead is [Append] without the payload, which is to follow.
func AppendHead(dst []byte, m *Message) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	at := len(dst)
	dst = append(dst, make([]byte, MinFrame)...)
	m.putFrame(dst[at:])
	m.putHeader(dst[at+transportHeader:])
	dst = append(dst, m.Trace...)
	dst = append(dst, m.Data1...)
	dst = append(dst, make([]byte, max(0, minData1-len(m.Data1)))...)
	return append(dst, m.Data2...), nil
}

func (m *Message) check() error {
	if m.Size() > math.MaxInt32 {
		return &SizeError{Size: m.Size(), Limit: math.MaxInt32}
	}
	for _, t := range [...]TextError{{"source", m.Src, MaxSource}, {"source address", m.SrcIP, MaxSource}, {"MEID", m.MEID, MaxMEID}} {
		if len(t.Text) > t.Max || bytes.IndexByte(t.Text, 0) >= 0 {
			return &TextError{t.Field, bytes.Clone(t.Text), t.Max}
		}
	}
	return nil
}

func (m *Message) putFrame(f []byte) {
	binary.LittleEndian.PutUint32(f, uint32(m.Size()))
	binary.BigEndian.PutUint32(f[4:], uint32(m.Size()))
	f[8] = mark
}

func (m *Message) putHeader(h []byte) {
	put := func(at, n int) { binary.BigEndian.PutUint32(h[at:], uint32(n)) }
	put(typeAt, int(m.Type))
	put(lengthAt, len(m.Payload))
	put(versionAt, headerVersion)
	copy(h[xidAt:], m.XID[:])
	copy(h[sourceAt:], m.Src)
	copy(h[meidAt:], m.MEID)
	binary.LittleEndian.PutUint32(h[flagsAt:], m.Flags)
	put(len0At, HeaderSize)
	put(len1At, len(m.Trace))
	put(len2At, max(minData1, len(m.Data1)))
	put(len3At, len(m.Data2))
	put(subIDAt, int(m.SubID))
	copy(h[addressAt:], m.SrcIP)
}

// Clone returns a copy that shares no bytes with m. It allocates once.
func (m *Message) Clone() Message {
	out := *m
	all := make([]byte, 0, len(m.Src)+len(m.SrcIP)+len(m.MEID)+len(m.Trace)+len(m.Data1)+len(m.Data2)+len(m.Payload))
	for _, part := range [...]*[]byte{&out.Src, &out.SrcIP, &out.MEID, &out.Trace, &out.Data1, &out.Data2, &out.Payload} {
		at := len(all)
		all = append(all, *part...)
		*part = all[at:len(all):len(all)]
	}
	return out
}
