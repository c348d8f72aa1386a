package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// manPage is one page of section 1 of the system's manual, as man(7) text.
type manPage struct{ name, text string }

// writeManPages writes the manual into a directory, made if missing: floe.1, and
// floe-COMMAND.1 for each command.
func writeManPages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range manPages() {
		if err := os.WriteFile(filepath.Join(dir, p.name+".1"), []byte(p.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manPages makes the pages of the program and of all commands.
func manPages() []manPage {
	all := manuals()
	pages := []manPage{programPage(all)}
	for _, m := range all {
		pages = append(pages, m.page())
	}
	return pages
}

// programPage is floe(1): what all commands share, and which there are.
func programPage(all []manual) manPage {
	r := newRoff("floe", newRoot(stdio{}).Short)
	r.section("SYNOPSIS")
	r.lines(`\fBfloe\fR \fICOMMAND\fR [\fIFLAGS\fR] [\fIARGUMENTS\fR]`)
	r.section("DESCRIPTION")
	r.text(rootHelp)
	r.section("COMMANDS")
	for _, m := range all {
		r.item(bold(m.path), m.short)
	}
	r.section("OPTIONS OF COMMANDS THAT TALK TO NODES")
	talks := slices.IndexFunc(all, func(m manual) bool {
		return slices.ContainsFunc(m.flags, func(f manualFlag) bool { return f.shared })
	})
	for _, f := range all[talks].flags {
		if f.shared {
			r.flag(f)
		}
	}
	r.section("SEE ALSO")
	var others []string
	for _, m := range all {
		others = append(others, reference(m.pageName()))
	}
	r.lines(strings.Join(others, ",\n"))
	return r.page()
}

// pageName is the name of a command's page, "floe-meid-list" for one.
func (m *manual) pageName() string { return strings.ReplaceAll(m.path, " ", "-") }

// page is a command's own page.
func (m *manual) page() manPage {
	r := newRoff(m.pageName(), m.short)
	r.section("SYNOPSIS")
	arguments := strings.TrimPrefix(m.usage, m.path)
	r.lines(strings.TrimSpace(bold(m.path) + ` [\fIFLAGS\fR]` + italic(arguments)))
	r.section("DESCRIPTION")
	r.text(m.long)
	r.options("OPTIONS", m.flags, false)
	r.options("OPTIONS TO REACH NODES", m.flags, true)
	r.section("EXAMPLE")
	r.verbatim(m.example)
	r.section("SEE ALSO")
	r.lines(reference("floe"))
	return r.page()
}

// roff gathers one page.
type roff struct {
	name string
	b    strings.Builder
}

func newRoff(name, short string) *roff {
	r := &roff{name: name}
	fmt.Fprintf(&r.b, ".TH %s 1 \"\" \"floe %s\" \"floe\"\n", escape(strings.ToUpper(name)), escape(programVersion()))
	r.section("NAME")
	r.lines(escape(name) + ` \- ` + escape(short))
	return r
}

func (r *roff) page() manPage { return manPage{r.name, r.b.String()} }

func (r *roff) section(title string) { fmt.Fprintf(&r.b, ".SH %s\n", title) }

// lines adds what is roff already.
func (r *roff) lines(text string) { r.b.WriteString(text + "\n") }

// text adds paragraphs; one with indented lines keeps its lines.
func (r *roff) text(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			r.lines(".PP")
		}
		if strings.Contains("\n"+paragraph, "\n ") {
			r.verbatim(paragraph)
			continue
		}
		r.lines(escape(paragraph))
	}
}

// verbatim adds lines that stay as they are.
func (r *roff) verbatim(text string) { r.lines(".nf\n" + escape(text) + "\n.fi") }

// item adds what stands under a word.
func (r *roff) item(word, text string) { r.lines(".TP\n" + word + "\n" + escape(text)) }

// options adds a command's own flags, or the shared ones, if there are any.
func (r *roff) options(title string, flags []manualFlag, shared bool) {
	for _, f := range flags {
		if f.shared != shared {
			continue
		}
		if title != "" {
			r.section(title)
			title = ""
		}
		r.flag(f)
	}
}

func (r *roff) flag(f manualFlag) {
	word := bold("--" + f.name)
	if f.letter != "" {
		word = bold("-"+f.letter) + ", " + word
	}
	help := f.help
	if f.unset != "" {
		help += " (default " + f.unset + ")"
	}
	r.item(word+italic(f.value), help)
}

func reference(page string) string { return bold(page) + "(1)" }

func bold(text string) string { return `\fB` + escape(text) + `\fR` }

// italic is "" for a blank text.
func italic(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return ` \fI` + escape(strings.TrimSpace(text)) + `\fR`
}

var (
	roffSpecial = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`)
	controlLine = regexp.MustCompile(`(?m)^[.']`)
)

// escape is a text as man(7) text: a dash stays one that can be copied, and no line is a request.
func escape(text string) string {
	return controlLine.ReplaceAllString(roffSpecial.Replace(text), `\&$0`)
}
