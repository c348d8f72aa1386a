package proto

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the length of the header of every message, in bytes.
const HeaderSize = 14

// DefaultMaxSize is Ice's default limit for a message, header included, in
// bytes (Ice.MessageSizeMax = 1024 KiB).
const DefaultMaxSize = 1 << 20

// MessageType is the kind of a message, byte 8 of its header.
type MessageType byte

// The message types of the protocol.
const (
	MessageRequest            MessageType = 0
	MessageBatchRequest       MessageType = 1
	MessageReply              MessageType = 2
	MessageValidateConnection MessageType = 3
	MessageCloseConnection    MessageType = 4
)

// String returns the name used in Ice's manual.
func (t MessageType) String() string {
	names := [...]string{"Request", "BatchRequest", "Reply", "ValidateConnection", "CloseConnection"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("MessageType(%d)", byte(t))
}

// Values of byte 9 of a header. Any other value is a plain body as well.
const (
	CompressionNone     byte = 0 // plain body
	CompressionAccepted byte = 1 // plain body, a compressed reply is welcome
	CompressionBzip2    byte = 2 // bzip2 body, see Decompress
)

// Header is the decoded header of a message.
type Header struct {
	Type        MessageType
	Compression byte
	Size        int // whole message in bytes, header included
}

// Compressed reports whether the body has to go through Decompress.
func (h Header) Compressed() bool { return h.Compression == CompressionBzip2 }

// ParseHeader decodes the first HeaderSize bytes of b. A message of more than
// max bytes is refused. Every error wraps ErrProtocol. Messages without a
// body may claim a larger size: the receiver reads it and ignores it, as Ice
// does for a heartbeat.
func ParseHeader(b []byte, max int) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, protocolError("header of %d bytes, want %d", len(b), HeaderSize)
	}
	if string(b[:4]) != "IceP" {
		return Header{}, protocolError("bad magic % x, not an Ice message", b[:4])
	}
	if b[4] != 1 || b[5] != 0 {
		return Header{}, protocolError("protocol version %d.%d, want 1.0", b[4], b[5])
	}
	if b[6] != 1 || b[7] != 0 {
		return Header{}, protocolError("header encoding version %d.%d, want 1.0", b[6], b[7])
	}
	if b[8] > byte(MessageCloseConnection) {
		return Header{}, protocolError("unknown message type %d", b[8])
	}
	size := int32(binary.LittleEndian.Uint32(b[10:]))
	if size < HeaderSize {
		return Header{}, protocolError("message size %d, want at least %d", size, HeaderSize)
	}
	if int64(size) > int64(max) {
		return Header{}, protocolError("message size %d, limit %d: %w", size, max, ErrTooLarge)
	}
	return Header{Type: MessageType(b[8]), Compression: b[9], Size: int(size)}, nil
}

// AppendHeader appends h.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, 'I', 'c', 'e', 'P', 1, 0, 1, 0, byte(h.Type), h.Compression)
	return binary.LittleEndian.AppendUint32(dst, uint32(h.Size))
}

// AppendValidate appends a ValidateConnection message, which is also the
// heartbeat.
func AppendValidate(dst []byte) []byte {
	return append(dst, "IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00"...)
}

// AppendClose appends a CloseConnection message. Its compression byte is 1,
// as real Ice sends it.
func AppendClose(dst []byte) []byte {
	return append(dst, "IceP\x01\x00\x01\x00\x04\x01\x0e\x00\x00\x00"...)
}

// PatchSize sets the size in the header of the message that begins at
// dst[start] and goes to the end of dst plus extra bytes which are sent from
// elsewhere. It returns dst.
func PatchSize(dst []byte, start, extra int) []byte {
	binary.LittleEndian.PutUint32(dst[start+10:], uint32(len(dst)-start+extra))
	return dst
}
