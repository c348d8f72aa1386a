package routing_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
)

// The .rt files of testdata are texts, the .expect files what version 4.9.4
// of the library made of them in the program app0:43086 with the address
// 10.99.0.1: once as a static file, once as a pushed table.

func vectors(t testing.TB) map[string]string {
	files, err := filepath.Glob("testdata/*.rt")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	texts := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(f), ".rt")] = string(b)
	}
	return texts
}

// expectations returns the lines of an expect file for the file and the push.
func expectations(t *testing.T, name string) (file, push []string) {
	b, err := os.ReadFile("testdata/" + name + ".expect")
	if err != nil {
		t.Fatal(err)
	}
	into := new([]string)
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		switch {
		case strings.HasPrefix(l, "[file]"):
			into = &file
		case strings.HasPrefix(l, "[push]"):
			into = &push
		case l[0] == '#' || strings.HasPrefix(l, "log: "):
		default:
			*into = append(*into, l)
		}
	}
	return file, push
}

func app0() *routing.Reader {
	return &routing.Reader{Name: "app0:43086", Addresses: []string{"10.99.0.1:43086"}}
}

func TestReaderDoesWhatTheLibraryDoes(t *testing.T) {
	for name, text := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			file, push := expectations(t, name)
			r := app0()
			err := r.File(text)
			if diff := cmp.Diff(story(r, nil, err, file), file); diff != "" {
				t.Errorf("as a file (- got, + want):\n%s", diff)
			}
			r = app0()
			answers, err := r.Push(text)
			got := story(r, acks(answers), err, push)
			if diff := cmp.Diff(got, push); diff != "" {
				t.Errorf("pushed (- got, + want):\n%s", diff)
			}
		})
	}
}

// story tells what a reader holds in the words of the expect files. The
// questions of its lookup lines are taken from want.
func story(r *routing.Reader, acks []string, err error, want []string) []string {
	var out []string
	if acks != nil {
		out = append(out, acks...)
	}
	if errors.As(err, new(*routing.CrashError)) {
		return append(out, "process died: signal 11")
	}
	out = append(out, fmt.Sprintf("ready=%d name=app0:43086 ip=10.99.0.1:43086", map[bool]int{true: 1}[r.Ready()]))
	for _, e := range r.Routes() {
		out = append(out, fmt.Sprintf("route mtype=%d subid=%d -> %s", e.Key.MType, e.Key.SubID,
			groups(e, " ; ", "(nil endpoint)", "(entry with no endpoint)")))
	}
	for _, meid := range slices.Sorted(maps.Keys(r.MEIDs())) {
		out = append(out, `meid "`+meid+`" -> "`+r.MEIDs()[meid]+`"`)
	}
	id, given := r.ID()
	if !given {
		id = "(none)"
	}
	out = append(out, fmt.Sprintf("table_id=%s in_progress=%s", strings.ReplaceAll(id, "\r", `\r`), map[bool]string{true: "yes", false: "no"}[r.Open()]))
	for _, l := range want {
		if strings.HasPrefix(l, "lookup ") {
			out = append(out, answer(r, l))
		}
	}
	return out
}

func acks(answers []string) []string {
	if len(answers) == 0 {
		return []string{"ack: (none)"}
	}
	var out []string
	for _, a := range answers {
		// What the library leaves uninitialised we leave out.
		a = regexp.MustCompile("^ERR (u[0-9]*) \n").ReplaceAllString(a, "ERR $1 <uninitialised bytes of the sender stack>\n")
		out = append(out, "ack: "+strings.NewReplacer("\n", `\n`, "\x00", `\0`).Replace(a))
	}
	return out
}

var question = regexp.MustCompile(`^lookup mtype=(\S+) subid=(\S+)(?: meid=(\S+))? =>`)

func answer(r *routing.Reader, line string) string {
	m := question.FindStringSubmatch(line)
	mtype, _ := strconv.Atoi(m[1])
	subID, _ := strconv.Atoi(m[2])
	e := r.Lookup(int32(mtype), int32(subID))
	if e == nil {
		return m[0] + " none"
	}
	out := fmt.Sprintf("%s entry mtype=%d subid=%d %s", m[0], e.Key.MType, e.Key.SubID,
		groups(e, " ", "(nil endpoint: a send that selects it kills the process)", "no endpoint"))
	if !e.ByMEID {
		return out
	}
	if owner, ok := r.MEIDs()[m[3]]; ok {
		return out + " owner=" + owner
	}
	return out + " owner=unknown"
}

func groups(e *routing.Entry, between, none, nothing string) string {
	switch {
	case e.ByMEID:
		return "by-meid"
	case len(e.Groups) == 0:
		return nothing
	}
	var out []string
	for _, g := range e.Groups {
		var members []string
		for _, m := range g {
			if m == "" {
				m = none
			}
			members = append(members, `"`+m+`"`)
		}
		out = append(out, "{"+strings.Join(members, ", ")+"}")
	}
	return strings.Join(out, between)
}
