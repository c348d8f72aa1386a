// Package web is the page that a node shows to browsers: files in the
// program, plain JavaScript modules that ask the JSON API of the node they
// came from and nobody else.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
)

//go:embed *.html *.css *.svg *.js
var files embed.FS

// policy lets the page use what came with it and nothing else. Names of
// topics and programs may hold anything; with it even a mistake in the page
// could not make a script of one.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are those of the files; what the machine thinks of them does not count.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one file as it is sent.
type file struct {
	name string
	body []byte
	tag  string
}

// Handle gives the page and its files to the handler that add makes known
// under a pattern of [http.ServeMux]. The page is at /, the files at /web/.
func Handle(add func(pattern string, h http.Handler)) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, e := range entries {
		body, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		f := file{e.Name(), body, `"` + hex.EncodeToString(sum[:8]) + `"`}
		if f.name == "index.html" {
			add("GET /{$}", f)
			continue
		}
		add("GET /web/"+f.name, f)
	}
}

// ServeHTTP sends the file. Browsers keep it, and ask whether it is still the same.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", types[path.Ext(f.name)])
	_, _ = w.Write(f.body) // the client is gone if this fails
}
