package http_test

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page is at /, each file it names below it, all of them with a policy that lets nothing from elsewhere in.
func TestPage(t *testing.T) {
	w := newWorld(t)
	status, page, h := w.do(t, "GET", "/", nil)
	if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		t.Fatalf("/ answers %d, %s", status, h.Get("Content-Type"))
	}
	files, err := os.ReadDir("web")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") || f.Name() == "index.html" || strings.HasSuffix(f.Name(), ".md") {
			continue
		}
		want, err := os.ReadFile("web/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		status, body, h := w.do(t, "GET", "/web/"+f.Name(), nil)
		if status != 200 || strings.TrimSpace(body) != strings.TrimSpace(string(want)) || h.Get("Content-Type") == "" {
			t.Errorf("%s: %d, %s, %d bytes", f.Name(), status, h.Get("Content-Type"), len(body))
		}
		if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe") || strings.Contains(p, "*") {
			t.Errorf("%s: policy %q", f.Name(), p)
		}
	}
	if found := regexp.MustCompile(`(?i)https?://|<script>|\son\w+=|style=`).FindAllString(page, -1); len(found) > 0 {
		t.Errorf("the page has %q", found)
	}
}

func TestPageIsAskedForAgain(t *testing.T) {
	w := newWorld(t)
	_, _, h := w.do(t, "GET", "/", nil)
	again := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	again.Header.Set("If-None-Match", h.Get("ETag"))
	recorder := httptest.NewRecorder()
	w.calls.ServeHTTP(recorder, again)
	if recorder.Code != 304 || recorder.Body.Len() > 0 || h.Get("Cache-Control") != "no-cache" {
		t.Errorf("the same page again: %d with %d bytes, %q", recorder.Code, recorder.Body.Len(), h.Get("Cache-Control"))
	}
	for _, path := range []string{"/web/", "/web/nothing.js", "/web/web.go", "/index.html"} {
		if status, body, _ := w.do(t, "GET", path, nil); status != 404 || !strings.Contains(body, `"not_found"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
