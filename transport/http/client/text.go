package client

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"floe/transport/http/api"
)

// checkText refuses a body with text that is not UTF-8: JSON would carry
// other characters in its place, and a topic of another name would be made.
func checkText(body any) error {
	text, bad := badText(reflect.ValueOf(body))
	if !bad {
		return nil
	}
	valid := strings.ToValidUTF8(text, "\xff")
	before, _, _ := strings.Cut(valid, "\xff")
	if !strings.Contains(text, "\n") {
		return &api.Error{Kind: api.InvalidName, Message: fmt.Sprintf("%.300q is not UTF-8 text", text)}
	}
	line := 1 + strings.Count(before, "\n")
	return &api.Error{Kind: api.BadRequest, Message: fmt.Sprintf("line %d: not UTF-8 text", line), Line: line}
}

// badText returns the first string in v that is not UTF-8.
func badText(v reflect.Value) (text string, bad bool) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return badText(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if text, bad := badText(field); bad {
				return text, true
			}
		}
	case reflect.Slice:
		for i := 0; v.Type().Elem().Kind() != reflect.Uint8 && i < v.Len(); i++ {
			if text, bad := badText(v.Index(i)); bad {
				return text, true
			}
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			for _, part := range []reflect.Value{entry.Key(), entry.Value()} {
				if text, bad := badText(part); bad {
					return text, true
				}
			}
		}
	}
	return "", false
}
