package server

import (
	"io"

	"floe/transport/ice/proto"
)

const (
	inputSmall = 4 << 10  // of an idle connection, bytes
	inputBusy  = 64 << 10 // grown to where much is read at once
)

// input is the read buffer of a connection. Messages are taken from it in
// place. It grows with the bytes that came, never with a size announced.
type input struct {
	buf  []byte
	r, w int // buf[r:w] is read but not taken
	want int // size of the message cut short at r, 0 where unknown
}

func (in *input) empty() bool { return in.r == in.w }
func (in *input) len() int    { return in.w - in.r }
func (in *input) large() bool { return len(in.buf) > inputSmall }

// shrink gives back the memory of an empty buffer.
func (in *input) shrink() { in.buf, in.r, in.w = nil, 0, 0 }

// read reads once into the free part, making room before.
func (in *input) read(from io.Reader) error {
	in.makeRoom()
	n, err := from.Read(in.buf[in.w:])
	in.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// makeRoom moves what is left to the front and doubles a buffer that was
// filled to its end, either by one message or by many small ones.
func (in *input) makeRoom() {
	if in.buf == nil {
		in.buf = make([]byte, inputSmall)
	}
	full := in.w == len(in.buf)
	if full && (len(in.buf) < inputBusy || in.want > len(in.buf)) {
		bigger := make([]byte, 2*len(in.buf))
		in.w = copy(bigger, in.buf[in.r:in.w])
		in.buf, in.r = bigger, 0
		return
	}
	if in.r > 0 {
		in.w = copy(in.buf, in.buf[in.r:in.w])
		in.r = 0
	}
}

// next takes the next whole message. Its body aliases the buffer up to the
// next read; nil where the message is not complete yet. Errors wrap
// proto.ErrProtocol.
func (in *input) next(max int) (proto.Header, []byte, error) {
	in.want = 0
	if in.len() < proto.HeaderSize {
		return proto.Header{}, nil, nil
	}
	h, err := proto.ParseHeader(in.buf[in.r:in.w], max)
	if err != nil {
		return h, nil, err
	}
	if in.len() < h.Size {
		in.want = h.Size
		return h, nil, nil
	}
	body := in.buf[in.r+proto.HeaderSize : in.r+h.Size : in.r+h.Size]
	in.r += h.Size
	return h, body, nil
}
