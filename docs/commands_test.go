package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"floe/scripts/floetest"
)

// foreign are flags in the text that belong to programs of others: icestormdb's.
var foreign = map[string]bool{"export": true}

// scriptFlags are the flags of what is in scripts: as shell scripts spell them, and as Go programs declare them.
func scriptFlags(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	spelled, declared := regexp.MustCompile(`--([a-z][a-z-]*)`), regexp.MustCompile(`\b\w+\.(?:\w*Var|Bool|Int|String|Duration)\((?:&[\w.]+, )?"([a-z][a-z-]*)"`)
	walk(t, func(path string) {
		find := spelled
		switch {
		case !strings.HasPrefix(path, filepath.Join(root, "scripts")) || strings.HasSuffix(path, "_test.go"):
			return
		case filepath.Ext(path) == ".go":
			find = declared
		case filepath.Dir(path) != filepath.Join(root, "scripts"):
			return
		}
		for _, m := range find.FindAllStringSubmatch(read(t, path), -1) {
			known[m[1]] = true
		}
	})
	return known
}

// helps is what `floe WORDS --help` says, asked once for each.
type helps struct {
	t    *testing.T
	said map[string]string
}

func (h *helps) of(words ...string) string {
	key := strings.Join(words, " ")
	if _, asked := h.said[key]; !asked {
		o := floetest.Floe(h.t, append(append([]string{}, words...), "--help")...)
		if o.Exit != 0 {
			o.Stdout = ""
		}
		h.said[key] = o.Stdout
	}
	return h.said[key]
}

// command finds the longest command the words begin with.
func (h *helps) command(words []string) (path []string, help string) {
	help = h.of()
	for _, w := range words {
		if !listed(help, w) {
			break
		}
		path = append(path, w)
		help = h.of(path...)
	}
	return path, help
}

// listed tells whether a help's list of commands holds a word.
func listed(help, word string) bool {
	_, list, found := strings.Cut(help, "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	return found && regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(word)+` `).MatchString(list)
}

func hasFlag(help, name string) bool {
	return regexp.MustCompile(`(?m)^ .*--` + regexp.QuoteMeta(name) + `[ \[\n]`).MatchString(help)
}

func TestCommandsExist(t *testing.T) {
	h := &helps{t: t, said: map[string]string{}}
	checked := 0
	for path, text := range pages(t) {
		if filepath.Base(path) == "DESIGN.md" {
			continue
		}
		for _, line := range commandLines(text) {
			checked++
			h.check(path, line)
		}
	}
	if checked < 50 {
		t.Errorf("only %d command lines found", checked)
	}
}

// check holds one command line to the help of its command.
func (h *helps) check(page, line string) {
	h.t.Helper()
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == strings.ToUpper(words[0]) {
		return // `floe` alone, or `floe COMMAND ...`
	}
	found, help := h.command(words)
	if len(found) == 0 {
		h.t.Errorf("%s: floe %s: no such command", page, line)
		return
	}
	for _, w := range words[len(found):] {
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "" && name != "help" && !hasFlag(help, name) && !hasFlag(h.of(), name) {
			h.t.Errorf("%s: floe %s: no flag --%s", page, line, name)
		}
	}
}

var (
	inline      = regexp.MustCompile("`(?:\\./)?floe ([^`]*)`")
	assignments = regexp.MustCompile(`^(?:\w+=\S+ +)*(?:\./)?floe +(.*)$`)
	shellEnd    = regexp.MustCompile(` *(?:[|&<>#]| # ).*$`)
	indented    = regexp.MustCompile(`(?m)^    (\S.*)$`)
)

// commandLines returns what follows `floe` in code blocks and in the text.
func commandLines(text string) (lines []string) {
	var code []string
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if m[1] == "sh" {
			code = append(code, strings.Split(m[2], "\n")...)
		}
	}
	text = fenced.ReplaceAllString(text, "")
	for _, m := range indented.FindAllStringSubmatch(text, -1) {
		code = append(code, m[1])
	}
	for _, l := range code {
		if m := assignments.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			lines = append(lines, shellEnd.ReplaceAllString(m[1], ""))
		}
	}
	for _, m := range inline.FindAllStringSubmatch(text, -1) {
		lines = append(lines, shellEnd.ReplaceAllString(m[1], ""))
	}
	return lines
}

// TestFlagsInTheTextExist: some command, or script, has each flag the pages speak of.
func TestFlagsInTheTextExist(t *testing.T) {
	h := &helps{t: t, said: map[string]string{}}
	all, scripts := h.everything(nil), scriptFlags(t)
	for path, text := range pages(t) {
		for _, m := range regexp.MustCompile("`--([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			if !foreign[m[1]] && !scripts[m[1]] && !hasFlag(all, m[1]) {
				t.Errorf("%s: no command has --%s", path, m[1])
			}
		}
	}
}

// everything is the help of all commands below a path.
func (h *helps) everything(path []string) string {
	help := h.of(path...)
	_, list, _ := strings.Cut(help, "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(line, "  ") {
			help += h.everything(append(path[:len(path):len(path)], words[0]))
		}
	}
	return help
}
