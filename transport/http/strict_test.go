package http

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// A text with a half character is one that the decoder changes.
func FuzzHalfCharacter(f *testing.F) {
	for _, s := range []string{`\ud800`, `\ud83d\ude00`, `\udc00\ud800`, `\\ud800`, `\\\ud800`, `\u00e9\n`, `\ud800\ud83d\ude00`, `\uFFFD`, `\`, `\u12`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var text string
		body := []byte(`"` + s + `"`)
		got := halfCharacter(body)
		if json.Unmarshal(body, &text) != nil || !utf8.ValidString(s) || strings.ContainsRune(s, '\uFFFD') || strings.Contains(strings.ToLower(s), `\ufffd`) {
			return
		}
		if want := strings.ContainsRune(text, '\uFFFD'); got != want {
			t.Errorf("%q: got %v, want %v", s, got, want)
		}
	})
}
