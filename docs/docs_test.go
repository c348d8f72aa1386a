// Package docs_test holds the documentation to the program: links, commands, flags, HTTP calls, errors, metrics and the
// tests that promises name.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"floe/scripts/floetest"
)

func TestMain(m *testing.M) { os.Exit(floetest.Main(m)) }

// root is the module's directory as seen from here.
const root = ".."

// pages returns the project's own Markdown files with their text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".md") {
			found[path] = read(t, path)
		}
	})
	if len(found) < 8 {
		t.Fatalf("only %d pages found below %s", len(found), root)
	}
	return found
}

// walk visits the project's own files.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile: other tests make and remove files
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || name == "out" || strings.HasPrefix(name, ".git")) {
			return fs.SkipDir
		}
		if !d.IsDir() {
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for path, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checkLink(t, path, text, m[1])
		}
	}
}

func checkLink(t *testing.T, path, text, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	if file != "" {
		other := filepath.Join(filepath.Dir(path), file)
		if _, err := os.Stat(other); err != nil {
			t.Errorf("%s: link to %s: %v", path, target, err)
			return
		}
		text = read(t, other)
	}
	if anchor != "" && !anchors(text)[anchor] {
		t.Errorf("%s: link to %s: no such heading", path, target)
	}
}

// anchors are a page's headings as links name them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(strings.TrimSpace(m[1]))
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// TestPromisesNameTestsThatExist: no promise without a running check.
func TestPromisesNameTestsThatExist(t *testing.T) {
	known := tests(t)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(read(t, "design.md"), -1)
	if len(named) < 20 {
		t.Errorf("design.md names %d tests", len(named))
	}
	for _, m := range named {
		if !known[m[1]] {
			t.Errorf("design.md names %s, which does not exist", m[1])
		}
	}
}

// tests are the names of the project's tests.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	walk(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(read(t, path), -1) {
				known[m[1]] = true
			}
		}
	})
	return known
}

// TestBoundsNameTestsThatExist: each bound says how one sees that it was met, and which test meets it.
func TestBoundsNameTestsThatExist(t *testing.T) {
	known, rows := tests(t), 0
	for _, row := range regexp.MustCompile(`(?m)^\| .* \|$`).FindAllString(read(t, "limits.md"), -1) {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		last := cells[len(cells)-1]
		if strings.Trim(last, "- ") == "" || last == "test" {
			continue
		}
		rows++
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(last, -1)
		if len(named) == 0 {
			t.Errorf("limits.md names no test: %s", row)
		}
		for _, m := range named {
			if !known[m[1]] {
				t.Errorf("limits.md names %s, which does not exist", m[1])
			}
		}
		if seen := cells[len(cells)-2]; strings.TrimSpace(seen) == "" {
			t.Errorf("limits.md does not say how one sees it: %s", row)
		}
	}
	if rows < 100 {
		t.Errorf("only %d bounds", rows)
	}
}
