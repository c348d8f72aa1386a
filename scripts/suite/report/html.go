package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"

	"floe/scripts/suite/check"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) },
	"at":      func(ns int64) string { return fmt.Sprintf("%.2f", time.Duration(ns).Seconds()) },
	"percent": func(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) },
	"join":    func(all []string) string { return strings.Join(all, ", ") },
	"word":    word,
}).Parse(pageText))

// word is a verdict in a word or two.
func word(v check.Verdict) string {
	if v.Kept {
		return "kept"
	}
	return fmt.Sprintf("broken, %d times", v.Total)
}

// HTML is the page for people. It needs no other file but the pages of bad
// histories that it links to.
func (p *Page) HTML() (string, error) {
	var b strings.Builder
	err := page.Execute(&b, struct {
		*Page
		Picture template.HTML
	}{p, template.HTML(p.Timeline.SVG(p.Faults))}) // made of numbers and the suite's own words
	return b.String(), err
}
