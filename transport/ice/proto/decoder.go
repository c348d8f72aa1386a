package proto

import (
	"encoding/binary"
	"math"
)

// Decoder is a cursor over encoded data. The first error sticks: from then
// on every method returns a zero value, so a caller checks Err once, at the
// end. It never reads past its slice. Not safe for concurrent use.
type Decoder struct {
	buf      []byte
	off      int
	encoding Version
	err      error
}

// NewDecoder returns a Decoder over b, whose data is in the given encoding.
func NewDecoder(b []byte, encoding Version) Decoder {
	return Decoder{buf: b, encoding: encoding}
}

// Err returns the first error, a *DecodeError or *UnsupportedEncodingError.
func (d *Decoder) Err() error { return d.err }

// Encoding returns the version the data is encoded in.
func (d *Decoder) Encoding() Version { return d.encoding }

// Left returns the number of bytes not yet read.
func (d *Decoder) Left() int { return len(d.buf) - d.off }

// Offset returns the number of bytes read.
func (d *Decoder) Offset() int { return d.off }

// Since returns the bytes read since Offset returned start. It aliases the
// input.
func (d *Decoder) Since(start int) []byte { return d.buf[start:d.off:d.off] }

// fail records the first error and moves to the end, so that loops over the
// rest end too.
func (d *Decoder) fail(reason string) {
	if d.err == nil {
		d.err = &DecodeError{Offset: d.off, Reason: reason}
	}
	d.off = len(d.buf)
}

// Next returns the next n bytes, aliasing the input; nil when there are fewer.
func (d *Decoder) Next(n int) []byte {
	if n < 0 || n > len(d.buf)-d.off {
		d.fail("data ends too early")
		return nil
	}
	b := d.buf[d.off : d.off+n : d.off+n]
	d.off += n
	return b
}

// Byte reads a byte.
func (d *Decoder) Byte() byte {
	if d.off >= len(d.buf) {
		d.fail("data ends too early")
		return 0
	}
	b := d.buf[d.off]
	d.off++
	return b
}

// Bool reads a bool; any byte but 0 is true, as in Ice for C++.
func (d *Decoder) Bool() bool { return d.Byte() != 0 }

// Int16 reads a short.
func (d *Decoder) Int16() int16 {
	if b := d.Next(2); b != nil {
		return int16(binary.LittleEndian.Uint16(b))
	}
	return 0
}

// Int32 reads an int.
func (d *Decoder) Int32() int32 {
	if b := d.Next(4); b != nil {
		return int32(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// Int64 reads a long.
func (d *Decoder) Int64() int64 {
	if b := d.Next(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Float32 reads a float.
func (d *Decoder) Float32() float32 { return math.Float32frombits(uint32(d.Int32())) }

// Float64 reads a double.
func (d *Decoder) Float64() float64 { return math.Float64frombits(uint64(d.Int64())) }

// Size reads a size: one byte, or 255 and an int. It isn't yet compared with
// the bytes left, see SeqSize.
func (d *Decoder) Size() int {
	b := d.Byte()
	if b < 255 {
		return int(b)
	}
	n := d.Int32()
	if n < 0 {
		d.fail("negative size")
		return 0
	}
	return int(n)
}

// SeqSize reads the element count of a sequence or dictionary whose elements
// take at least minElement bytes each, and fails when the bytes left can't
// hold that many. Allocating for the result is safe.
func (d *Decoder) SeqSize(minElement int) int {
	n := d.Size()
	if int64(n)*int64(minElement) > int64(d.Left()) {
		d.fail("sequence longer than the data")
		return 0
	}
	return n
}

// Bytes reads a string or byte sequence. The result aliases the input.
func (d *Decoder) Bytes() []byte { return d.Next(d.Size()) }

// String reads a string. Its bytes are not checked for being UTF-8, as Ice
// doesn't either.
func (d *Decoder) String() string { return string(d.Bytes()) }

// Enum reads an enumerator between 0 and max, the highest of its type.
func (d *Decoder) Enum(max int) int {
	var v int
	switch {
	case d.encoding != Encoding10:
		v = d.Size()
	case max < 127:
		v = int(d.Byte())
	case max < 32767:
		v = int(d.Int16())
	default:
		v = int(d.Int32())
	}
	if v < 0 || v > max {
		d.fail("enumerator out of range")
		return 0
	}
	return v
}

// StringDict reads a dictionary of strings. Of a repeated key the first value
// counts, as in Ice.
func (d *Decoder) StringDict() map[string]string {
	n := d.SeqSize(2)
	dict := make(map[string]string, min(n, growLimit))
	for range n {
		key, value := d.Bytes(), d.Bytes()
		if _, have := dict[string(key)]; !have {
			dict[string(key)] = string(value)
		}
	}
	return dict
}

// Identity reads an identity.
func (d *Decoder) Identity() Identity {
	name := d.String()
	return Identity{Name: name, Category: d.String()}
}

// Identities reads a sequence of identities.
func (d *Decoder) Identities() []Identity {
	n := d.SeqSize(2)
	ids := make([]Identity, 0, min(n, growLimit))
	for range n {
		ids = append(ids, d.Identity())
	}
	return ids
}

// facetPath reads a facet path; the default facet is nil.
func (d *Decoder) facetPath() []byte {
	switch d.SeqSize(1) {
	case 0:
		return nil
	case 1:
		return d.Bytes()
	}
	d.fail("facet path of more than one element")
	return nil
}
