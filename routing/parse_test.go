package routing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
)

func seed(t testing.TB, name string) string {
	b, err := os.ReadFile("testdata/" + name + ".rt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSeedDocument loads the example of the RMR page as it is printed: its
// end record says 1 for three records.
func TestSeedDocument(t *testing.T) {
	p := routing.Parse(seed(t, "seed-document"), routing.Options{})
	err := p.Err()
	var syntax *routing.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("got %v, want a SyntaxError", err)
	}
	last := p.Findings[len(p.Findings)-1]
	if b, err := json.Marshal(last); err != nil || string(b) != `{"line":14,"column":18,"severity":"error","code":"count","text":"counted 3, end record says 1"}` {
		t.Errorf("as JSON: %s, %v", b, err)
	}
	if got, want := err.Error(), "line 14, column 18: counted 3, end record says 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"seed-count-3", "seed-no-count"} {
		p := routing.Parse(seed(t, name), routing.Options{})
		if err := p.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, want := len(p.Findings), 6; got != want {
			t.Errorf("%s: %d findings, want %d: reserved types alone\n%v", name, got, want, p.Findings)
		}
		s := state(t, seed(t, name))
		if s.Table.Len() != 6 || s.MEIDs.Len() != 10 {
			t.Errorf("%s: %d routes, %d MEIDs", name, s.Table.Len(), s.MEIDs.Len())
		}
		if p := routing.Parse(seed(t, name), routing.Options{RefuseReserved: true}); p.Err() == nil {
			t.Errorf("%s: reserved types pass", name)
		}
	}
}

// state loads a text into an empty state.
func state(t testing.TB, text string) routing.State {
	t.Helper()
	return load(t, routing.State{}, text)
}

func load(t testing.TB, s routing.State, text string) routing.State {
	t.Helper()
	next, _ := change(t, s, text)
	return next
}

func change(t testing.TB, s routing.State, text string) (routing.State, routing.Changes) {
	t.Helper()
	p := routing.Parse(text, routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	next, c, err := s.Apply(p.Update)
	if err != nil {
		t.Fatal(err)
	}
	return next, c
}

// table puts records between a start and an end.
func table(records ...string) string {
	return "newrt|start\n" + strings.Join(records, "\n") + "\nnewrt|end\n"
}

func members(n int, sep string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("a:%d", i+1)
	}
	return strings.Join(list, sep)
}

func TestFindings(t *testing.T) {
	long := strings.Repeat("m", 32)
	tests := []struct {
		name string
		text string
		want []string // line, column, severity, code, part of the text
	}{
		{"fine", table("mse|100|-1|a:1,b:2;[fd00::1]:3", "mse|101,x:1|5|topic:a b", "del|102|-1"), nil},
		{"fine map", "meid_map|start\nmme_ar|a:1|m1 m2\nmme_del|m3\nmeid_map|end|2|d41d8cd9\n", nil},
		{"route in a map", "meid_map|start\nmse|100|-1|a:1\nmeid_map|end|0\n", nil},
		{"count too low", "newrt|start|t\nmse|100|-1|a:1\ndel|1|1\nnewrt | end | 1\n", []string{"4:15 error count counted 2, end record says 1"}},
		{"count of the other kind", "newrt|start|t\nmse|100|-1|a:1\nmme_ar|a:1|x\nnewrt|end|2\n", []string{"4:11 error count counted 1, end record says 2"}},
		{"count empty", "newrt|start|t\nnewrt|end|\n", []string{`2:11 error count says "": not a number`}},
		{"count with junk", "newrt|start|t\nmse|100|-1|a:1\nnewrt|end|1x\n", []string{`3:11 error count not a number`}},
		{"count hold", "newrt|start|t\nnewrt|end|hold\n", []string{`2:11 error count`}},
		{"nothing", "", []string{"1:1 error text no table"}},
		{"blank and comment only", "\n \n# x\n", []string{"1:1 error text no table"}},
		{"cut", "newrt|start|t\nmse|100|-1|a:1\n", []string{"1:1 error structure unfinished"}},
		{"cut record", "newrt|start|t\nmse|100|-1", []string{"1:1 error structure unfinished", "2:9 error short-record mse needs 4 fields"}},
		{"not started", "mse|100|-1|a:1\nnewrt|end\n", []string{"1:1 error structure outside", "2:1 error structure not started"}},
		{"second start", "newrt|start\nnewrt|start\nnewrt|end\n", []string{"2:1 error structure line 1 has no end", "2:1 warning duplicate line 1"}},
		{"other end", "newrt|start\nmeid_map|end\n", []string{"2:1 error structure line 1 started a newrt"}},
		{"map begin", "meid_map|begin|m\nmme_ar|a:1|x\nmeid_map|end|1\n", []string{`1:10 error structure begins with "begin"`}},
		{"table begin", "newrt|begin|m\nnewrt|end|0\n", nil},
		{"capital words", "newrt|START\n", []string{`1:7 error structure neither start nor end`}},
		{"capital record", table("MSE|100|-1|a:1"), []string{`2:1 warning unknown-word "MSE"`}},
		{"bare word", table("nothing"), []string{`2:1 error bare-word "nothing" stands alone`}},
		{"bare newrt", "newrt\n", []string{`1:1 error bare-word`}},
		{"misread", table("next|x", "rxx|1|a:1", "use|x", "delete|1|1"), []string{"2:1 error misread-word newrt", "3:1 error misread-word rte", "4:1 error misread-word updatert", "5:1 error misread-word del"}},
		{"unknown", table("msx|1", "bogus|x", "|x"), []string{"2:1 warning unknown-word", "3:1 warning unknown-word", "4:1 warning unknown-word"}},
		{"short mse", table("mse|100|-1"), []string{"2:9 error short-record mse needs 4 fields, this one has 3"}},
		{"short rte", table("rte|100"), []string{"2:5 error short-record"}},
		{"short del", table("del|100"), []string{"2:5 error short-record"}},
		{"short owner", table("mme_ar|a:1"), []string{"2:8 error short-record"}},
		{"no endpoint", table("mse|100|-1|"), []string{"2:12 error short-record no endpoint"}},
		{"33 members", table("mse|100|-1|"+members(32, ","), "mse|101|-1|"+members(33, ",")), []string{"3:163 error too-many 33 endpoints"}},
		{"65 groups", table("mse|100|-1|"+members(64, ";"), "mse|101|-1|"+members(65, ";")), []string{"3:323 error too-many 65 groups"}},
		{"MEID of 31 and 32", table("mme_ar|a:1|" + long[:31] + " " + long), []string{"2:44 error meid 32 bytes: a message carries at most 31"}},
		{"no MEID", table("mme_ar|a:1| ", "mme_del|"), []string{"2:12 error meid empty MEID", "3:9 error meid empty MEID"}},
		{"no port", table("mse|100|-1|a:1, b", "mse|101|-1|a:x", "mse|102|-1|a:0", "mse|103|-1|a:65536", "mme_ar|control1|d", "mme_ar||e"), []string{
			"2:16 warning stray-blank", `2:17 error endpoint "b" has no port`, "3:12 error endpoint", "4:12 error endpoint", "5:12 error endpoint", `6:8 error endpoint owner "control1" has no port`, "7:8 error endpoint empty owner"}},
		{"no host", table("mse|100|-1|:4560"), []string{"2:12 error endpoint no host"}},
		{"IPv6", table("mse|100|-1|fd00::1:4560", "mse|101|-1|[fd00::1:4560", "mse|102|-1|[10.0.0.1]:1"), []string{"2:12 error endpoint [address]:port", "3:12 error endpoint", "4:12 error endpoint"}},
		{"empty member", table("mse|100|-1|a:1,,b:1", "mse|101|-1|;a:1", "mse|102|-1|a:1;", "mse|103|-1|a:1,"), []string{
			"2:16 error empty-member dies", "3:12 error empty-member", "4:16 error empty-member", "5:16 error empty-member"}},
		{"blank inside", table("mse|100|-1|a b:1"), []string{"2:12 error endpoint blank"}},
		{"marker", table("mse|100|-1|%meid;a:1", "mse|101|-1|%MEID", "mse|102|-1|a:1;%meid"), []string{"2:12 error endpoint alone", "3:12 error endpoint", "4:16 error endpoint"}},
		{"comments", "# whole | line\n  # indented\n" + table("mse|100|-1|a:1 # note", "mse|101|-1|a:1\t# tab ## more", "mse|102|-1|a:1# note"), []string{"6:15 error glued-comment #"}},
		{"comment first in a field", table("mse|100|-1|# a:1"), []string{"2:12 error glued-comment"}},
		{"bar in a comment", table("rte|100|a:1 # a|b"), []string{"2:17 error comment-bar"}},
		{"comment in the middle", table("mse|100 # c|-1|a:1"), []string{"2:13 error comment-bar"}},
		{"stray blanks", table("mse|100 , x:1|-1|a:1 , b:1;c:1 ", "mme_ar|a:1|m1  m2", "mme_ar|a:1|m3\tm4"), []string{
			"2:5 warning stray-blank", "2:10 warning stray-blank", "2:18 warning stray-blank", "2:23 warning stray-blank", "3:12 warning stray-blank", "4:12 warning stray-blank"}},
		{"duplicate", table("mse|107|-1|a:1", "# x", "mse|107|-1|b:1"), []string{"4:1 warning duplicate line 2"}},
		{"duplicate senders in another order", table("mse|107,x:1,y:1|-1|a:1", "mse|107,y:1,x:1|-1|b:1"), []string{"3:1 warning duplicate line 2"}},
		{"no duplicate after del", table("mse|107|-1|a:1", "del|107|-1", "mse|107|-1|b:1"), nil},
		{"general, then limited", table("mse|107|-1|a:1", "mse|107,x:1|-1|b:1"), nil},
		{"limited, then general", table("mse|107,x:1|-1|b:1", "mse|107|-1|a:1"), []string{"3:1 warning shadowed line 2"}},
		{"MEID twice", table("mme_ar|a:1|g1", "mme_ar|b:1|g1", "mme_del|g1"), []string{"3:12 warning duplicate line 2", "4:9 warning duplicate line 3"}},
		{"rte", table("rte|100|a:1", "rte|101|a:1|5"), []string{"2:1 warning rte", "3:1 warning rte"}},
		{"key zero", table("mse|0|0|%meid"), []string{"2:5 warning key-zero", "2:5 warning reserved-type"}},
		{"reserved", table("mse|0|-1|a:1", "mse|99|-1|a:1", "mse|100|-1|a:1", "mse|-5|-1|a:1"), []string{"2:5 warning reserved-type", "3:5 warning reserved-type"}},
		{"numbers", table("mse|abc|-1|a:1", "mse|0x30|-1|a:1", "mse|2147483648|-1|a:1", "mse|100|7.9|a:1", "mse||1|a:1", "del|x|1"), []string{
			"2:5 error number", "3:5 error number", "4:5 error number", "5:9 error number", "6:5 error number", "7:5 error number"}},
		{"senders", table("mse|100,|-1|a:1", "mse|101,app0|-1|a:1"), []string{"2:9 error sender", "3:9 warning sender"}},
		{"extra field", table("mse|100|-1|a:1|x|y"), []string{"2:16 warning extra-field 2 fields"}},
		{"128 MEIDs", table("mme_ar|a:1|"+ids(0, 127), "mme_ar|a:1|"+ids(200, 328)), []string{"3:12 warning many-meids"}},
		{"NUL", "newrt|start|t\nmse|100|-1|a:1\n\x00mse|101|-1|a:2\nnewrt|end|1\n", []string{"1:1 error structure", "3:1 error text NUL"}},
		{"not UTF-8", table("mse|100|-1|\xff:1"), []string{"2:1 error text UTF-8"}},
		{"line ends", "newrt|start\r\nmse|100|-1|a:1\rmse|101|-1|b\nnewrt|end|2", []string{"3:12 error endpoint"}},
		{"CRLF, comments, tabs", "newrt|start|t\t# x\r\n\tmse |\t100\t| -1 |a:1\r\nnewrt|end|1 # done\r\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := routing.Parse(test.text, routing.Options{})
			if len(p.Findings) != len(test.want) {
				t.Fatalf("got %v\nwant %q", p.Findings, test.want)
			}
			failed := false
			for i, f := range p.Findings {
				place, rest, _ := strings.Cut(test.want[i], " ")
				severity, rest, _ := strings.Cut(rest, " ")
				code, part, _ := strings.Cut(rest, " ")
				failed = failed || severity == "error"
				got := []string{fmt.Sprintf("%d:%d", f.Line, f.Column), f.Severity.String(), string(f.Code)}
				if diff := cmp.Diff(got, []string{place, severity, code}); diff != "" || !strings.Contains(f.Text, part) {
					t.Errorf("got %v, want %q", f, test.want[i])
				}
			}
			if (p.Err() != nil) != failed {
				t.Errorf("refused: %v", p.Err())
			}
		})
	}
}

func ids(from, to int) string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("k%03d", i))
	}
	return strings.Join(list, " ")
}

// TestCrashesAreRefused: what ends a program is an error to the strict
// parser.
func TestCrashesAreRefused(t *testing.T) {
	for name, text := range vectors(t) {
		if strings.HasPrefix(name, "crash-") && routing.Parse(text, routing.Options{}).Err() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestFindingsAreBounded(t *testing.T) {
	p := routing.Parse(strings.Repeat("x\n", 100_000), routing.Options{})
	if got := len(p.Findings); got != 501 {
		t.Errorf("%d findings", got)
	}
}

func TestTopicsOfAnEntry(t *testing.T) {
	for groups, fits := range map[string]bool{
		"topic:a":                     true,
		"x:1,topic:a":                 true,
		"topic:a,topic:b;topic:c":     true,
		"x:1,topic:a;y:1":             true,
		"x:1,topic:a;topic:b":         false,
		"topic:b;y:1;x:1,topic:a":     false,
		"topic:a;y:1;topic:b,x:1,z:2": false,
	} {
		p := routing.Parse("newrt|start\nmse|7|-1|"+groups+"\nnewrt|end|1\n", routing.Options{})
		if (p.Err() == nil) != fits {
			t.Errorf("%s: %v, want it to fit: %t", groups, p.Err(), fits)
		}
	}
}

// T12: what is known of programs and topics is said.
func TestWhatIsKnownOfEndpoints(t *testing.T) {
	options := routing.Options{
		Program: func(endpoint string) string {
			return map[string]string{"app1:4560": "app1:4560", "10.0.0.5:4560": "app1:4560", "app2:4560": "app2:4560"}[endpoint]
		},
		Topic: func(name string) bool { return name == "known" },
	}
	for groups, want := range map[string]string{
		"app1:4560,10.0.0.5:4560":     "warning: app1:4560 and 10.0.0.5:4560 are one program, app1:4560: it gets two turns",
		"app1:4560;10.0.0.5:4560":     "",
		"app1:4560,app1:4560":         "", // twice on purpose: a weight
		"app1:4560,app2:4560,x:1,y:1": "",
		"topic:known":                 "",
		"topic:other":                 `warning: there is no topic "other": what is meant for it is dropped`,
	} {
		p := routing.Parse("newrt|start\nmse|700|-1|"+groups+"\nnewrt|end|1\n", options)
		var got string
		for _, f := range p.Findings {
			_, got, _ = strings.Cut(f.String(), ": ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", groups, got, want)
		}
	}
}
