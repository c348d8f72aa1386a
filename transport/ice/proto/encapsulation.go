package proto

import "encoding/binary"

// encapsHeader is the length of the size and version before the data.
const encapsHeader = 6

// Encapsulation reads a whole encapsulation, of any version, with its
// six-byte header. The result aliases the input.
func (d *Decoder) Encapsulation() []byte {
	if d.Left() < encapsHeader {
		d.fail("data ends too early for an encapsulation")
		return nil
	}
	size := int32(binary.LittleEndian.Uint32(d.buf[d.off:]))
	if size < encapsHeader || int(size) > d.Left() {
		d.fail("encapsulation size out of range")
		return nil
	}
	return d.Next(int(size))
}

// EncapsulationVersion returns the encoding version of an encapsulation, as
// returned by Decoder.Encapsulation or found in a Request.
func EncapsulationVersion(encaps []byte) Version {
	if len(encaps) < encapsHeader {
		return Version{}
	}
	return Version{encaps[4], encaps[5]}
}

// OpenEncapsulation returns a Decoder over the data of an encapsulation: the
// parameters of a request or the results of a reply. The caller ends with
// Decoder.Finish. Errors: *DecodeError, *UnsupportedEncodingError.
func OpenEncapsulation(encaps []byte) (Decoder, error) {
	d := Decoder{buf: encaps, encoding: Encoding10}
	whole := d.Encapsulation()
	if d.err != nil {
		return Decoder{}, d.err
	}
	version := EncapsulationVersion(whole)
	if !version.supported() {
		return Decoder{}, &UnsupportedEncodingError{Version: version}
	}
	return Decoder{buf: whole, off: encapsHeader, encoding: version}, nil
}

// CheckEmpty returns nil when encaps holds no parameters, which is what an
// operation without any expects.
func CheckEmpty(encaps []byte) error {
	d, err := OpenEncapsulation(encaps)
	if err != nil {
		return err
	}
	if d.encoding == Encoding10 && d.Left() > 0 {
		d.fail("parameters where none are expected")
		return d.err
	}
	return d.Finish()
}

// Finish ends the reading of an encapsulation and returns the first error.
// What follows in encoding 1.1 is skipped where it is a well-formed list of
// optionals. In 1.0 nothing may follow but one byte, which Ice tolerates since
// its versions before 3.3 could leave one.
func (d *Decoder) Finish() error {
	if d.encoding == Encoding10 {
		if d.Left() == 1 {
			d.off++
		}
	} else {
		d.skipOptionals()
	}
	if d.err == nil && d.Left() > 0 {
		d.fail("data after the last parameter")
	}
	return d.err
}

// skipOptionals skips optionals up to the end or the end marker.
func (d *Decoder) skipOptionals() {
	const endMarker = 0xff
	for d.err == nil && d.Left() > 0 {
		head := d.Byte()
		if head == endMarker {
			return
		}
		if head>>3 == 30 { // the tag follows
			d.Size()
		}
		d.skipOptional(head & 7)
	}
}

func (d *Decoder) skipOptional(format byte) {
	switch format {
	case 0, 1, 2, 3: // fixed length of 1, 2, 4, 8 bytes
		d.Next(1 << format)
	case 4: // a size
		d.Size()
	case 5: // a size and as many bytes
		d.Next(d.Size())
	case 6: // an int and as many bytes
		d.Next(int(d.Int32()))
	default: // a class instance; only null can be skipped without its definition
		if d.Size() != 0 {
			d.fail("optional class instance")
		}
	}
}

// BeginEncapsulation appends the header of an encapsulation. The int it
// returns goes to EndEncapsulation once the data has been appended.
func BeginEncapsulation(dst []byte, encoding Version) ([]byte, int) {
	return append(dst, encapsHeader, 0, 0, 0, encoding.Major, encoding.Minor), len(dst)
}

// EndEncapsulation sets the size of the encapsulation begun at start, which
// reaches to the end of dst, and returns dst.
func EndEncapsulation(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// AppendEmptyEncapsulation appends an encapsulation without data.
func AppendEmptyEncapsulation(dst []byte, encoding Version) []byte {
	return append(dst, encapsHeader, 0, 0, 0, encoding.Major, encoding.Minor)
}
