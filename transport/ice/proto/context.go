package proto

import "iter"

// Context is the context of a request in its encoded form: a count and as
// many pairs of key and value. nil is the empty context. A Context made by
// this package is well formed; it aliases the buffer of its request.
type Context []byte

// NewContext encodes a map.
func NewContext(values map[string]string) Context {
	return AppendStringDict(nil, values)
}

// Len returns the number of entries, repeated keys included.
func (c Context) Len() int {
	d := Decoder{buf: c}
	if len(c) == 0 {
		return 0
	}
	return d.SeqSize(2)
}

// Lookup returns the value of key without allocating; it aliases the context.
// Of a repeated key the first value counts, as in Ice.
func (c Context) Lookup(key string) (value []byte, ok bool) {
	d := Decoder{buf: c}
	for range c.skipCount(&d) {
		k, v := d.Bytes(), d.Bytes()
		if d.err == nil && string(k) == key {
			return v, true
		}
	}
	return nil, false
}

// All yields the entries in the order sent, repeated keys included.
func (c Context) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		d := Decoder{buf: c}
		for range c.skipCount(&d) {
			k, v := d.Bytes(), d.Bytes()
			if d.err != nil || !yield(k, v) {
				return
			}
		}
	}
}

func (c Context) skipCount(d *Decoder) int {
	if len(c) == 0 {
		return 0
	}
	return d.SeqSize(2)
}

// Context reads a context and checks that it is well formed.
func (d *Decoder) Context() Context {
	start := d.off
	n := d.SeqSize(2)
	for range n {
		d.Bytes()
		d.Bytes()
	}
	if d.err != nil {
		return nil
	}
	return d.Since(start)
}

// AppendContext appends c; nil is written as an empty dictionary.
func AppendContext(dst []byte, c Context) []byte {
	if len(c) == 0 {
		return append(dst, 0)
	}
	return append(dst, c...)
}
