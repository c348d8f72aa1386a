package proto

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// AppendBool appends a bool.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendInt16 appends a short.
func AppendInt16(dst []byte, v int16) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(v))
}

// AppendInt32 appends an int.
func AppendInt32(dst []byte, v int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(v))
}

// AppendInt64 appends a long.
func AppendInt64(dst []byte, v int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(v))
}

// AppendFloat32 appends a float.
func AppendFloat32(dst []byte, v float32) []byte {
	return AppendInt32(dst, int32(math.Float32bits(v)))
}

// AppendFloat64 appends a double.
func AppendFloat64(dst []byte, v float64) []byte {
	return AppendInt64(dst, int64(math.Float64bits(v)))
}

// AppendSize appends a size or count, 0 ≤ n < 2^31, in its short form where
// that is possible.
func AppendSize(dst []byte, n int) []byte {
	if n < 255 {
		return append(dst, byte(n))
	}
	return AppendInt32(append(dst, 255), int32(n))
}

// AppendString appends a string or byte sequence with its length.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	return append(AppendSize(dst, len(s)), s...)
}

// AppendStrings appends a sequence of strings.
func AppendStrings(dst []byte, list []string) []byte {
	dst = AppendSize(dst, len(list))
	for _, s := range list {
		dst = AppendString(dst, s)
	}
	return dst
}

// AppendEnum appends enumerator v of a type whose highest one is max.
func AppendEnum(dst []byte, v, max int, encoding Version) []byte {
	switch {
	case encoding != Encoding10:
		return AppendSize(dst, v)
	case max < 127:
		return append(dst, byte(v))
	case max < 32767:
		return AppendInt16(dst, int16(v))
	}
	return AppendInt32(dst, int32(v))
}

// AppendStringDict appends a dictionary of strings, sorted by key bytewise as
// Ice for C++ does.
func AppendStringDict(dst []byte, dict map[string]string) []byte {
	dst = AppendSize(dst, len(dict))
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		dst = AppendString(dst, key)
		dst = AppendString(dst, dict[key])
	}
	return dst
}

// AppendIdentity appends an identity, name first.
func AppendIdentity(dst []byte, id Identity) []byte {
	return AppendString(AppendString(dst, id.Name), id.Category)
}

// AppendIdentities appends a sequence of identities.
func AppendIdentities(dst []byte, ids []Identity) []byte {
	dst = AppendSize(dst, len(ids))
	for _, id := range ids {
		dst = AppendIdentity(dst, id)
	}
	return dst
}

// AppendTarget appends what addresses an object inside a request: its
// identity and facet path. An empty facet is the default one.
func AppendTarget(dst []byte, id Identity, facet string) []byte {
	dst = AppendIdentity(dst, id)
	return appendFacetPath(dst, facet)
}

func appendFacetPath[T string | []byte](dst []byte, facet T) []byte {
	if len(facet) == 0 {
		return append(dst, 0)
	}
	return AppendString(append(dst, 1), facet)
}
