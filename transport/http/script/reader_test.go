package script

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rows are the sentences of icestormadmin's grammar: separators, comments
// and last lines as reported for 3.7.8.
func TestCommands(t *testing.T) {
	tests := []struct {
		name, text string
		want       [][]string
	}{
		{"the manual's script", "create A B C\nlink A B 0\nlink A C 1\n", [][]string{{"create", "A", "B", "C"}, {"link", "A", "B", "0"}, {"link", "A", "C", "1"}}},
		{"semicolons", "create H;create I;", [][]string{{"create", "H"}, {"create", "I"}}},
		{"no newline at the end", "create A\ntopics", [][]string{{"create", "A"}, {"topics"}}},
		{"block comment", "create /* one\ntwo */ A", [][]string{{"create", "A"}}},
		{"line comment takes its newline", "topics // x\nlinks\ncreate A", [][]string{{"topics", "links"}, {"create", "A"}}},
		{"comment on a line of its own", "// first\ncreate A\n// last", [][]string{{"create", "A"}}},
		{"hash is no comment", "# create A", [][]string{{"#", "create", "A"}}},
		{"slashes inside a word", "create http://a/b /x a/*b", [][]string{{"create", "http://a/b", "/x", "a/*b"}}},
		{"double quotes", `create "a b" "q\"\\\n;" ""`, [][]string{{"create", "a b", `q"\\n;`, ""}}},
		{"single quotes", `create 'a\b' '"'`, [][]string{{"create", `a\b`, `"`}}},
		{"quoted newline", "create 'a\nb' c", [][]string{{"create", "a\nb", "c"}}},
		{"quote ends a word", `create "a"b c"d"`, [][]string{{"create", "a", "b", `c"d"`}}},
		{"continuation", "create A \\\n B\\ \nC", [][]string{{"create", "A", "B", "C"}}},
		{"escaped backslash at the end of a line", "create a\\\\\ncreate b", [][]string{{"create", `a\\`}, {"create", "b"}}},
		{"backslash inside a word", `create a\/b \x`, [][]string{{"create", `a\/b`, `\x`}}},
		{"empty commands", "\n;;\n \t\r\n", nil},
		{"bytes that are no text", "create \xff", [][]string{{"create", "\xff"}}},
		{"lone slash and backslash", "create / \\", [][]string{{"create", "/", "\\"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := All(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]string
			for _, c := range all {
				got = append(got, c.Texts())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	tests := []struct {
		text string
		line int
	}{
		{"create A\ncreate \"open\n\n", 2},
		{"create A\n\n/* open", 3},
		{"\ncreate 'x", 2},
		{"create " + strings.Repeat("x", MaxWord+1), 1},
		{"topics\n" + strings.Repeat("x ", MaxWords+1), 2},
	}
	for _, tt := range tests {
		_, err := All(tt.text)
		var e *Error
		if !errors.As(err, &e) || e.Line != tt.line {
			t.Errorf("%.20q: got %v, want an error in line %d", tt.text, err, tt.line)
		}
	}
}

func TestLinesAreCounted(t *testing.T) {
	all, err := All("\ncreate A\n// x\n\"to\npics\"\n/*\n*/ links; links\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, c := range all {
		got = append(got, c.Line)
	}
	if d := cmp.Diff([]int{2, 4, 7, 7}, got); d != "" {
		t.Error(d)
	}
}

func TestGoesOnBehindAnError(t *testing.T) {
	r := NewReader(strings.NewReader("create " + strings.Repeat("x", MaxWord+2) + "\ntopics\n"))
	if _, err := r.Next(); err == nil {
		t.Fatal("no error for an over-long word")
	}
	c, err := r.Next()
	if err != nil || c.Words[0].Text != "topics" || c.Line != 2 {
		t.Errorf("got %v, %v", c, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"create A B C\nlink A B 0\n", "/* x */ a // y\nb", `"\"" 'x' \`, "a\\\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := NewReader(strings.NewReader(text))
		for {
			c, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
			if err == nil && (len(c.Words) == 0 || c.Line < 1 || c.Line > strings.Count(text, "\n")+1) {
				t.Fatalf("%+v", c)
			}
		}
	})
}
