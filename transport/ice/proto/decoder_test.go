package proto

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrimitives(t *testing.T) {
	b := AppendBool(AppendBool(nil, true), false)
	b = AppendInt16(b, -2)
	b = AppendInt32(b, math.MinInt32)
	b = AppendInt64(b, math.MaxInt64)
	b = AppendFloat32(b, 1.5)
	b = AppendFloat64(b, -0.25)
	b = AppendString(b, strings.Repeat("x", 254))
	b = AppendString(b, strings.Repeat("y", 255))
	d := NewDecoder(b, Encoding11)
	got := []any{d.Bool(), d.Bool(), d.Int16(), d.Int32(), d.Int64(), d.Float32(), d.Float64(), d.String(), d.String()}
	want := []any{true, false, int16(-2), int32(math.MinInt32), int64(math.MaxInt64), float32(1.5), -0.25,
		strings.Repeat("x", 254), strings.Repeat("y", 255)}
	if diff := cmp.Diff(want, got); diff != "" || d.Err() != nil || d.Left() != 0 {
		t.Errorf("%v, %d left (-want +got):\n%s", d.Err(), d.Left(), diff)
	}
	if d.Byte() != 0 || d.Err() == nil {
		t.Error("reads past the end")
	}
}

func TestEveryCutIsNoticed(t *testing.T) {
	q := QueryInfo{Group: "g", Replica: NewProxy(Identity{"n", ""}, Endpoint{Type: EndpointTCP}), State: NodeNormal, Up: []GroupInfo{{ID: 1}}}
	whole := AppendQueryInfo(nil, &q, Encoding11)
	for n := range whole {
		d := NewDecoder(whole[:n], Encoding11)
		d.QueryInfo()
		if d.Err() == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(whole))
		}
	}
}

func TestSizesOutOfRange(t *testing.T) {
	tests := []struct {
		name, bytes string
		read        func(*Decoder)
	}{
		{"negative size", "\xff\xff\xff\xff\xff", func(d *Decoder) { d.Size() }},
		{"string of 2 GiB", "\xff\xff\xff\xff\x7f", func(d *Decoder) { d.Bytes() }},
		{"identities", "\xff\xff\xff\xff\x7f", func(d *Decoder) { d.Identities() }},
		{"dictionary", "\xff\xff\xff\xff\x7f", func(d *Decoder) { d.StringDict() }},
		{"links", "\xff\xff\xff\xff\x7f", func(d *Decoder) { d.LinkInfos() }},
		{"nodes", "\xff\xff\xff\xff\x7f", func(d *Decoder) { d.NodeInfos() }},
		{"context", "\x03\x01a\x01b", func(d *Decoder) { d.Context() }},
		{"two facets", "\x02\x01a\x01b", func(d *Decoder) { d.facetPath() }},
		{"one identity too few", "\x02\x01a\x01b\x01", func(d *Decoder) { d.Identities() }},
		{"encapsulation of five", "\x05\x00\x00\x00\x01\x01", func(d *Decoder) { d.Encapsulation() }},
		{"negative encapsulation", "\xff\xff\xff\xff\x01\x01", func(d *Decoder) { d.Encapsulation() }},
		{"encapsulation too long", "\x07\x00\x00\x00\x01\x01", func(d *Decoder) { d.Encapsulation() }},
	}
	for _, tt := range tests {
		d := NewDecoder([]byte(tt.bytes), Encoding11)
		tt.read(&d)
		var broken *DecodeError
		if !errors.As(d.Err(), &broken) {
			t.Errorf("%s: %v, want a decode error", tt.name, d.Err())
		}
	}
}

func TestEnumWidths(t *testing.T) {
	for _, tt := range []struct {
		v, max   int
		encoding Version
		want     string
	}{
		{2, 2, Encoding10, "\x02"}, {126, 126, Encoding10, "\x7e"}, {2, 127, Encoding10, "\x02\x00"},
		{2, 32767, Encoding10, "\x02\x00\x00\x00"}, {2, 2, Encoding11, "\x02"}, {300, 300, Encoding11, "\xff\x2c\x01\x00\x00"},
	} {
		got := AppendEnum(nil, tt.v, tt.max, tt.encoding)
		if string(got) != tt.want {
			t.Errorf("%+v: %x", tt, got)
		}
		d := NewDecoder(got, tt.encoding)
		if v := d.Enum(tt.max); v != tt.v || d.Err() != nil {
			t.Errorf("%+v: read as %d, %v", tt, v, d.Err())
		}
	}
	d := NewDecoder([]byte{4}, Encoding11)
	if d.Enum(3); d.Err() == nil {
		t.Error("an enumerator above the highest is accepted")
	}
}

func TestFinish(t *testing.T) {
	for _, tt := range []struct {
		name, rest string
		encoding   Version
		ok         bool
	}{
		{"nothing", "", Encoding11, true},
		{"fixed lengths", "\x08a\x11ab\x1aabcd\x23abcdefgh", Encoding11, true},
		{"size", "\x2c\x05\x34\xff\x00\x01\x00\x00", Encoding11, true},
		{"counted", "\x3d\x02ab\x46\x03\x00\x00\x00abc", Encoding11, true},
		{"large tag", "\xf0\x64a", Encoding11, true},
		{"null object", "\x4f\x00", Encoding11, true},
		{"end marker", "\x08a\xff", Encoding11, true},
		{"bytes after the end marker", "\xff\x08a", Encoding11, false},
		{"cut", "\x1aabc", Encoding11, false},
		{"negative count", "\x46\xff\xff\xff\xffabc", Encoding11, false},
		{"object", "\x4f\x01", Encoding11, false},
		{"nothing", "", Encoding10, true},
		{"one byte", "x", Encoding10, true},
		{"optionals", "\x08a", Encoding10, false},
	} {
		b, start := BeginEncapsulation(nil, tt.encoding)
		d, err := OpenEncapsulation(EndEncapsulation(append(b, tt.rest...), start))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Finish(); (err == nil) != tt.ok {
			t.Errorf("%s in %v: %v", tt.name, tt.encoding, err)
		}
	}
}

func TestCheckEmpty(t *testing.T) {
	for text, ok := range map[string]bool{
		"\x06\x00\x00\x00\x01\x01": true, "\x06\x00\x00\x00\x01\x00": true,
		"\x07\x00\x00\x00\x01\x00x": false, "\x07\x00\x00\x00\x01\x01x": false, "\x08\x00\x00\x00\x01\x01\x08a": true,
		"\x06\x00\x00\x00\x01\x02": false, "": false,
	} {
		if err := CheckEmpty([]byte(text)); (err == nil) != ok {
			t.Errorf("%x: %v", text, err)
		}
	}
	if got, want := AppendEmptyEncapsulation(nil, Encoding10), []byte{6, 0, 0, 0, 1, 0}; !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestDictIsSortedAndFirstValueCounts(t *testing.T) {
	got := AppendStringDict(nil, map[string]string{"b": "2", "a": "1", "": "0"})
	if want := "\x03\x00\x010\x01a\x011\x01b\x012"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	d := NewDecoder([]byte("\x02\x01a\x011\x01a\x012"), Encoding11)
	if diff := cmp.Diff(map[string]string{"a": "1"}, d.StringDict()); diff != "" {
		t.Error(diff)
	}
}
