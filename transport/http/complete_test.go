package http

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"floe/topics"
	"floe/transport/http/api"
)

// constants returns the string constants declared in a package whose names
// have the prefix, by name.
func constants(t *testing.T, dir, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), prefix) {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out[spec.Names[0].Name] = text
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("no constants %s... in %s", prefix, dir)
	}
	return out
}

// Each kind of refusal the program knows has a kind on the wire.
func TestEveryRefusalHasAKind(t *testing.T) {
	for _, dir := range []string{"../../topics", "../../fsm"} {
		for name, text := range constants(t, dir, "err") {
			if kinds[topics.Kind(text)] == "" {
				t.Errorf("%s of %s has no kind", name, dir)
			}
		}
	}
	for name, text := range constants(t, "../../cluster", "code") {
		if codes[text] == "" {
			t.Errorf("%s of package cluster has no kind", name)
		}
	}
}

// Each kind on the wire has a status and an exit code.
func TestEveryKindHasAMeaning(t *testing.T) {
	src, err := os.ReadFile("api/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Kind" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if !api.Kind(text).Known() {
			t.Errorf("kind %s has no meaning", spec.Names[0].Name)
		}
		return true
	})
	if n < 20 {
		t.Errorf("found %d kinds only", n)
	}
}
