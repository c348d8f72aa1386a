package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// halfCharacter tells whether a string in JSON text has an escaped surrogate
// without its other half, which the decoder would replace by another
// character. A backslash stands nowhere else in JSON.
func halfCharacter(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return false
		}
		b = b[i:]
		r, ok := escaped(b)
		switch {
		case !ok:
			b = b[min(2, len(b)):]
		case !utf16.IsSurrogate(r):
			b = b[6:]
		default:
			next, _ := escaped(b[6:])
			if utf16.DecodeRune(r, next) == '\uFFFD' {
				return true
			}
			b = b[12:]
		}
	}
}

// escaped reads the \u escape that b begins with.
func escaped(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// requireFields refuses an object without one of the fields.
func requireFields(body []byte, needed []string) error {
	if len(needed) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for _, name := range needed {
		if !hasField(fields, name) {
			return fmt.Errorf("the field %q is missing", name)
		}
	}
	return nil
}

// hasField looks a field up as the decoder does, in any case.
func hasField(fields map[string]json.RawMessage, name string) bool {
	for key, value := range fields {
		if strings.EqualFold(key, name) && string(value) != "null" {
			return true
		}
	}
	return false
}
