package client

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"floe/transport/http/api"
)

// checkText refuses text that is no UTF-8: JSON would put something else in
// the place of its bytes.
func checkText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return &api.Error{Kind: api.InvalidName, Message: strconv.Quote(t[:min(len(t), 64)]) + ": not UTF-8 text"}
		}
	}
	return nil
}

// checkScript is checkText for a script; the error names the line.
func checkScript(text string) error {
	line := 1
	for l := range strings.Lines(text) {
		if err := checkText(l); err != nil {
			return &api.Error{Kind: api.InvalidName, Line: line, Message: fmt.Sprintf("line %d: %v", line, err)}
		}
		line++
	}
	return nil
}

// checkEvent is checkText for all but the data of an event, which may be any bytes.
func checkEvent(p api.Publish) error {
	texts := slices.Concat([]string{p.Topic, p.Operation}, slices.Collect(maps.Keys(p.Context)), slices.Collect(maps.Values(p.Context)))
	return checkText(texts...)
}
