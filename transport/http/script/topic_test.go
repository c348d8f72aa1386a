package script

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTopicWord(t *testing.T) {
	tests := []struct {
		word, instance, name string
		bad                  bool
	}{
		{word: "A", name: "A"},
		{word: "", name: ""},
		{word: "IceStorm/A", instance: "IceStorm", name: "A"},
		{word: `a\/b`, name: "a/b"},
		{word: `I\/x/a\\b`, instance: "I/x", name: `a\b`},
		{word: `a\nb\tc`, name: "a\nb\tc"},
		{word: `\u00e9\U0001F600`, name: "é😀"},
		{word: `\101`, name: "A"},
		{word: "a/b/c", bad: true},
		{word: `a\`, name: `a\`},
		{word: `\u12`, bad: true},
		{word: `\777`, bad: true},
	}
	for _, tt := range tests {
		instance, name, err := TopicWord(tt.word)
		if (err != nil) != tt.bad || instance != tt.instance || name != tt.name {
			t.Errorf("%q: got %q, %q, %v", tt.word, instance, name, err)
		}
	}
}

// What QuoteTopic writes reads back as the same name, in the middle of a command.
func TestQuoteTopic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a/\\\"' ;\n-*#")))).Draw(t, "name")
		all, err := All("create " + QuoteTopic(name) + " end\n")
		if err != nil || len(all) != 1 || len(all[0].Words) != 3 {
			t.Fatalf("%q as %s: %v, %v", name, QuoteTopic(name), all, err)
		}
		instance, got, err := TopicWord(all[0].Words[1].Text)
		if err != nil || instance != "" || got != name {
			t.Fatalf("got %q, %q, %v, want %q", instance, got, err, name)
		}
	})
}
