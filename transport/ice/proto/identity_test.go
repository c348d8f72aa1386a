package proto

import (
	"strings"
	"testing"
)

func TestIdentityString(t *testing.T) {
	tests := []struct {
		id   Identity
		want string
	}{
		{Identity{"a", ""}, `a`},
		{Identity{"a", "b"}, `b/a`},
		{Identity{"a/b c", "I"}, `I/a\/b c`},
		{Identity{`q'"\`, ""}, `q\'\"\\`},
		{Identity{"\a\b\f\n\r\t\v\x01\x1f\x7f", ""}, `\a\b\f\n\r\t\v\u0001\u001f\u007f`},
		{Identity{"hé€😀", "ca/t"}, `ca\/t/hé€😀`},
		{Identity{"x:y", "c"}, `c/x:y`},
		{Identity{"", ""}, ``},
		{Identity{"", "c"}, `c/`},
		{Identity{"a@b$", ""}, `a@b$`},
		{Identity{"topic.", "IceStorm"}, `IceStorm/topic.`},
	}
	for _, tt := range tests {
		got := tt.id.String()
		if got != tt.want {
			t.Errorf("%+v prints as %s, want %s", tt.id, got, tt.want)
		}
		if back, err := ParseIdentity(got); err != nil || back != tt.id {
			t.Errorf("%s reads as %+v, %v", got, back, err)
		}
	}
}

// Values and refusals of Ice 3.7.8.
func TestParseIdentity(t *testing.T) {
	tests := []struct{ text, category, name string }{
		{`a\/b/c`, "a/b", "c"}, {`/a`, "", "a"}, {`a/`, "a", ""}, {``, "", ""}, {`/`, "", ""}, {`\/`, "", "/"},
		{`a\\/b`, `a\`, "b"}, {`\\\/`, "", `\/`}, {`\\`, "", `\`}, {`a\`, "", `a\`},
		{`\101`, "", "A"}, {`\0013`, "", "\x013"}, {`\7`, "", "\a"}, {`\0`, "", "\x00"}, {`\351`, "", "\xe9"},
		{`\x41`, "", "A"}, {`\x414`, "", "A4"}, {`\xe9`, "", "\xe9"},
		{`\u0041`, "", "A"}, {`\u00e9`, "", "é"}, {`\u00E9`, "", "é"}, {`\U0001F600`, "", "😀"},
		{`\h\303\251`, "", `\hé`}, {`\q`, "", `\q`}, {`\d800`, "", `\d800`}, {`\?\"\'`, "", `?"'`},
		{`\a\b\f\n\r\t\v`, "", "\a\b\f\n\r\t\v"}, {`a b`, "", "a b"}, {`é`, "", "é"},
	}
	for _, tt := range tests {
		got, err := ParseIdentity(tt.text)
		if want := (Identity{Category: tt.category, Name: tt.name}); err != nil || got != want {
			t.Errorf("%s reads as %+v, %v, want %+v", tt.text, got, err, want)
		}
	}
	for text, reason := range map[string]string{
		`a/b/c`: "unescaped '/'", `//`: "unescaped '/'", `\400`: "out of range", `\777`: "out of range",
		`\x`: "hex digit", `\u41`: "too few", `\u`: "too few", `\ud800`: "code point", `\U00110000`: "code point", `\Uffffffff`: "code point",
		"\t": "control character", "a\x01": "control character", "\x7f": "control character", "\\\x01": "control character",
	} {
		if got, err := ParseIdentity(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q reads as %+v, %v, want %q", text, got, err, reason)
		}
	}
}
