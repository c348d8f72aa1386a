package http

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"floe/routing"
	"floe/transport/http/api"
)

// code is this package's own code, as far as the description needs it.
type code struct {
	// handlers are the names of the methods that answer each call.
	handlers  map[string]string
	functions map[string]*ast.FuncDecl
}

// parsed returns the files of a package, without its tests.
func parsed(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func readSource(t *testing.T) *code {
	s := &code{handlers: map[string]string{}, functions: map[string]*ast.FuncDecl{}}
	for _, f := range parsed(t, ".") {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				s.functions[fn.Name.Name] = fn
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				s.handler(n.Key, n.Value)
			case *ast.CallExpr:
				if len(n.Args) == 2 {
					s.handler(n.Args[0], n.Args[1])
				}
			}
			return true
		})
	}
	return s
}

// handler notes which method of the server is behind a pattern.
func (s *code) handler(pattern, by ast.Expr) {
	call, method := literal(pattern), ""
	if !strings.Contains(call, " /") {
		return
	}
	ast.Inspect(by, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := sel.X.(*ast.Ident); ok && of.Name == "s" { // the server
				method = sel.Sel.Name
			}
		}
		return true
	})
	if method != "" {
		s.handlers[call] = method
	}
}

func literal(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value) // the compiler took it
		return text
	}
	return ""
}

// parameters are those a call's handler reads, and the functions that it
// hands its request to; a * means that it may be repeated.
func (s *code) parameters(call string) []string {
	found, seen := map[string]bool{}, map[string]bool{}
	s.walk(s.handlers[call], found, seen)
	if strings.HasPrefix(call, "GET ") && seen["view"] {
		found["stale"] = true
	}
	var names []string
	for name := range found {
		if !found[name+"*"] { // asked whether it is there, then read whole
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *code) walk(name string, found, seen map[string]bool) {
	fn := s.functions[name]
	if fn == nil || seen[name] {
		return
	}
	seen[name] = true
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr: // r.URL.Query()["topic"]
			if isQuery(n.X) {
				found[literal(n.Index)+"*"] = true
			}
		case *ast.CallExpr:
			s.call(n, found, seen)
		}
		return true
	})
}

func (s *code) call(n *ast.CallExpr, found, seen map[string]bool) {
	name := ""
	switch f := n.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if (name == "Get" || name == "Has") && isQuery(f.X) {
			if text := literal(n.Args[0]); text != "" {
				found[text] = true
			}
			return
		}
	}
	if !slices.ContainsFunc(n.Args, func(a ast.Expr) bool { id, ok := a.(*ast.Ident); return ok && id.Name == "r" }) {
		return
	}
	if len(n.Args) > 1 && (name == "param" || name == "flag" || name == "count") {
		found[literal(n.Args[1])] = true
		return
	}
	s.walk(name, found, seen)
}

// bodyFields are those that a call's body has to have.
func (s *code) bodyFields(call string) (names []string) {
	ast.Inspect(s.functions[s.handlers[call]], func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "decode" {
			for _, a := range c.Args[3:] {
				names = append(names, literal(a))
			}
		}
		return true
	})
	return names
}

// isQuery tells whether an expression is a request's query: r.URL.Query(), or
// q, as it is called everywhere.
func isQuery(e ast.Expr) bool {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name == "q"
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Query"
}

// schemas are the types of the API as JSON schemas, with their comments.
type schemas struct {
	byName  map[string]any
	answers map[string]bool   // the names that answers have
	about   map[string]string // by TYPE or TYPE.FIELD
	kinds   []string
}

func newSchemas(t *testing.T) *schemas {
	s := &schemas{byName: map[string]any{}, about: map[string]string{}}
	for _, dir := range []string{"api", "../../routing"} {
		for _, f := range parsed(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				if d, ok := n.(*ast.GenDecl); ok {
					s.note(d)
				}
				return true
			})
		}
	}
	s.kinds = kindConstants(t)
	for _, d := range describedCalls {
		s.of(d.answer)
	}
	s.answers = map[string]bool{}
	for name := range s.byName {
		s.answers[name] = true
	}
	return s
}

// kindConstants are the kinds of error.
func kindConstants(t *testing.T) (kinds []string) {
	for _, f := range parsed(t, "api") {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Kind" {
					kinds = append(kinds, literal(spec.Values[0]))
				}
			}
			return true
		})
	}
	slices.Sort(kinds)
	return kinds
}

// note keeps the comments of a type and its fields. A comment about several
// fields stands at the first and names them.
func (s *schemas) note(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		typ, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		fields, ok := typ.Type.(*ast.StructType)
		if !ok {
			continue
		}
		s.about[typ.Name.Name] = sentence(d.Doc.Text())
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				s.about[typ.Name.Name+"."+name.Name] = sentence(f.Doc.Text())
			}
		}
	}
}

func sentence(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// of returns the schema of a value's type; nil is text.
func (s *schemas) of(v any) map[string]any {
	switch v := v.(type) {
	case nil:
		return map[string]any{"type": "string"}
	case either:
		return map[string]any{"anyOf": []any{s.of(v[0]), s.of(v[1])}}
	}
	return s.ofType(reflect.TypeOf(v))
}

// body is the schema of what a call is given: fields that are not known are
// refused, and so are bodies without the needed ones.
func (s *schemas) body(v any, needed []string) map[string]any {
	ref := s.of(v)
	if v == nil {
		return ref
	}
	t := reflect.TypeOf(v)
	schema := maps.Clone(s.byName[t.Name()].(map[string]any))
	schema["additionalProperties"] = false
	delete(schema, "required")
	if len(needed) > 0 {
		schema["required"] = needed
	}
	if !s.answers[t.Name()] {
		s.byName[t.Name()] = schema
		return ref
	}
	s.byName[t.Name()+"Body"] = schema // what is answered has all fields
	return map[string]any{"$ref": "#/components/schemas/" + t.Name() + "Body"}
}

func (s *schemas) ofType(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[api.Kind]():
		return map[string]any{"type": "string", "enum": s.kinds}
	case t == reflect.TypeFor[routing.Severity]():
		return map[string]any{"type": "string", "enum": []string{routing.Warning.String(), routing.Error.String()}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return map[string]any{"type": "array", "items": s.ofType(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.ofType(t.Elem())}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		return s.ofStruct(t)
	}
	return map[string]any{"type": t.Kind().String()} // string
}

// ofStruct names a struct's schema, once.
func (s *schemas) ofStruct(t reflect.Type) map[string]any {
	name := t.Name()
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if _, known := s.byName[name]; known {
		return ref
	}
	schema, properties, required := map[string]any{"type": "object"}, map[string]any{}, []string{}
	s.byName[name] = schema
	s.fields(t, properties, &required)
	schema["properties"] = properties
	if len(required) > 0 {
		schema["required"] = required
	}
	if about := s.about[name]; about != "" {
		schema["description"] = about
	}
	return ref
}

// fields adds a struct's fields, and those of what it embeds. Fields of an
// embedded pointer are there or not, all of them.
func (s *schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range fieldsOf(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			of, always := f.Type, required
			if of.Kind() == reflect.Pointer {
				of, always = of.Elem(), new([]string)
			}
			s.fields(of, properties, always)
			continue
		}
		schema := s.ofType(f.Type)
		if about := s.about[t.Name()+"."+f.Name]; about != "" {
			schema["description"] = inWire(about, t)
		}
		properties[tag] = schema
		if options == "" {
			*required = append(*required, tag)
		}
	}
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// inWire gives the fields that a comment names the names they have in JSON.
func inWire(about string, t reflect.Type) string {
	words := strings.FieldsFunc(about, func(r rune) bool { return !unicode.IsLetter(r) })
	for f := range fieldsOf(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != "" && slices.Contains(words, f.Name) {
			about = replaceWord(about, f.Name, tag)
		}
	}
	return about
}

func replaceWord(text, word, by string) string {
	var b strings.Builder
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return b.String() + rest
		}
		end := i + len(word)
		if (i == 0 || !unicode.IsLetter(rune(rest[i-1]))) && (end == len(rest) || !unicode.IsLetter(rune(rest[end]))) {
			b.WriteString(rest[:i] + by)
		} else {
			b.WriteString(rest[:end])
		}
		rest = rest[end:]
	}
}
