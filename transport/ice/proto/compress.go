package proto

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"io"
)

// Decompress returns the plain body of a message whose header says
// CompressionBzip2. body is what follows the header: the int32 size of the
// plain message, its header included, and one bzip2 stream. A plain message of
// more than max bytes is refused before anything is unpacked, and unpacking
// stops at the size announced. Errors wrap ErrProtocol.
func Decompress(body []byte, max int) ([]byte, error) {
	if len(body) < 4 {
		return nil, protocolError("compressed body of %d bytes", len(body))
	}
	size := int32(binary.LittleEndian.Uint32(body))
	if size <= HeaderSize {
		return nil, protocolError("uncompressed size %d, want more than %d", size, HeaderSize)
	}
	if int64(size) > int64(max) {
		return nil, protocolError("uncompressed size %d, limit %d: %w", size, max, ErrTooLarge)
	}
	return unpack(body[4:], int(size)-HeaderSize)
}

// unpack grows its buffer with the data: a small body that announces a large
// size and then fails shall not cost that size.
func unpack(packed []byte, want int) ([]byte, error) {
	var plain bytes.Buffer
	plain.Grow(min(want, 8*len(packed)) + bytes.MinRead)
	stream := bzip2.NewReader(bytes.NewReader(packed))
	if _, err := plain.ReadFrom(io.LimitReader(stream, int64(want)+1)); err != nil {
		return nil, protocolError("bzip2 body: %w", err)
	}
	if plain.Len() != want {
		return nil, protocolError("bzip2 body does not have the announced %d bytes", want)
	}
	return plain.Bytes(), nil
}
