package relay

import (
	"encoding/binary"
	"sync"
)

// chunkSize is what is gathered for one piece of a write, in bytes. A longer
// frame has a chunk of its own.
const chunkSize = 64 << 10

// chunk is whole frames, one after the other. The length of each stands in
// its first four bytes, little endian.
type chunk struct {
	buf  []byte
	msgs int // frames that are not wholly written
	from int // where the first of those begins
	sent int // how many bytes are written
}

var chunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, 0, chunkSize)} }}

// newChunk returns an empty chunk with room for n bytes at least.
func newChunk(n int) *chunk {
	if n > chunkSize {
		return &chunk{buf: make([]byte, 0, n)}
	}
	return chunks.Get().(*chunk)
}

func (c *chunk) free() {
	if cap(c.buf) != chunkSize {
		return
	}
	*c = chunk{buf: c.buf[:0]}
	chunks.Put(c)
}

// rest is what is to be written.
func (c *chunk) rest() []byte { return c.buf[c.sent:] }

func (c *chunk) room() int { return cap(c.buf) - len(c.buf) }

func (c *chunk) add(frame []byte) {
	c.buf = append(c.buf, frame...)
	c.msgs++
}

// wrote notes that n more bytes are written, and returns how many frames
// are complete with those, and their bytes.
func (c *chunk) wrote(n int) (msgs, bytes int) {
	c.sent += n
	was := c.from
	if c.sent == len(c.buf) {
		msgs, c.msgs, c.from = c.msgs, 0, c.sent
		return msgs, c.from - was
	}
	for {
		length := int(binary.LittleEndian.Uint32(c.buf[c.from:]))
		if c.from+length > c.sent {
			return msgs, c.from - was
		}
		c.from += length
		c.msgs--
		msgs++
	}
}

// restart has frames written from the beginning of which only a part is: who
// got the part drops it when its connection ends.
func (c *chunk) restart() { c.sent = c.from }
