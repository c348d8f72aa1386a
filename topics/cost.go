package topics

import "math"

// ParseCost returns the cost of an event whose context entry "cost" is text;
// nil or empty text is 0. It is never refused: the value is that of C's atoi
// on 64-bit Linux, which IceStorm uses. Leading white space and one sign are
// skipped, digits are read up to the first other character (none: 0), values
// beyond int64 saturate, and the low 32 bits of the result count.
func ParseCost(text []byte) int32 {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	return int32(saturatingInt(text, negative))
}

// isSpace is C's isspace in the C locale.
func isSpace(c byte) bool {
	return c == ' ' || (c >= '\t' && c <= '\r')
}

// saturatingInt reads leading digits. It counts downwards, as the negative
// numbers reach one further.
func saturatingInt(digits []byte, negative bool) int64 {
	value := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			break
		}
		d := int64(c - '0')
		if value < (math.MinInt64+d)/10 {
			value = math.MinInt64
			break
		}
		value = value*10 - d
	}
	if negative {
		return value
	}
	if value == math.MinInt64 {
		return math.MaxInt64
	}
	return -value
}
