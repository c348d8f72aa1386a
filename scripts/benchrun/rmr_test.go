package main

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/routing"
)

func TestRMRRowsHaveNamesOfTheirOwnAndFiguresForTheirTargets(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rmrRows(1) {
		if seen[r.name] {
			t.Errorf("%s: twice", r.name)
		}
		seen[r.name] = true
		for _, target := range r.targets {
			if !slices.Contains(r.table.metrics, target.metric) || target.ratio {
				t.Errorf("%s: target %v is not in its table, or needs a second side", r.name, target)
			}
		}
	}
	for _, want := range []string{
		"by MEID among 1 000 000", "10 entries, 1 node", "100 000 entries, 3 nodes", "1 000 000 MEIDs, 3 nodes", "1->1 256 B",
		"1->4 4096 B", "call 256 B", "1000 applications, 3 nodes",
	} {
		if !seen[want] {
			t.Errorf("%s: missing", want)
		}
	}
}

// The texts are good, and the message named is one that only the last record serves.
func TestTextsLoad(t *testing.T) {
	table, last := routeText(6000)
	s, _, err := routing.State{}.Apply(good(t, table))
	if err != nil || s.Table.Len() != 6000 || last.MType != mtype+999 || last.SubID != 0 {
		t.Errorf("%d entries, last %+v: %v", s.Table.Len(), last, err)
	}
	text, last := mapText(250, []string{"a:1", "b:2"})
	s, _, err = routing.State{}.Apply(good(t, text))
	if owner, _ := s.MEIDs.Owner(last.MEID); err != nil || s.MEIDs.Len() != 250 || owner != "a:1" {
		t.Errorf("%d MEIDs, the last of %q: %v", s.MEIDs.Len(), owner, err)
	}
	s, _, err = routing.State{}.Apply(good(t, tableTo("a:1", "b:2")))
	if err != nil || s.Table.Len() != 1 {
		t.Error(err)
	}
}

func good(t *testing.T, text string) routing.Update {
	t.Helper()
	p := routing.Parse(text, routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return p.Update
}

func TestFramesAreOfOneLength(t *testing.T) {
	for _, w := range []forward{{size: 16}, {size: 4096}, {size: 256, byMEID: true}} {
		f, err := w.frames()
		if err != nil || len(f.all)%f.length != 0 || len(f.all) < writeSize-f.length || f.length < w.size {
			t.Errorf("%+v: %d bytes of %d each: %v", w, len(f.all), f.length, err)
		}
		if n := f.window(); n < 1 || n*int64(f.length) > 12<<20 {
			t.Errorf("%+v: %d under way", w, n)
		}
	}
}

func TestParseBenchmark(t *testing.T) {
	s, err := parseBenchmark("goos: linux\nBenchmarkX/a_b-2 \t 100\t 12.5 ns/op\t 3 B/op\t 1 allocs/op\nBenchmarkX/a_b-2 \t 100\t 13.5 ns/op\t 3 B/op\t 1 allocs/op\nPASS\n")
	if err != nil || s[perOp] != 12.5 || s[allocs] != 1 {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range []string{"PASS\n", "BenchmarkX-2 100 x ns/op 1 allocs/op\n", "BenchmarkX-2 100 5 ns/op\n"} {
		if s, err := parseBenchmark(bad); err == nil {
			t.Errorf("%q: %v", bad, s)
		}
	}
}

func TestMessageFigures(t *testing.T) {
	s := messageFigures(200, 150, 3*time.Second, 1500*time.Millisecond)
	if s[loss] != 25 || s[messages] != 50 || s[cpuMessage] != 1e4 || s[cores] != 0.5 {
		t.Errorf("%v", s)
	}
	if s := messageFigures(10, 0, time.Second, time.Second); s[loss] != 100 || s[messages] != 0 {
		t.Errorf("%v", s)
	}
}

func TestPercentiles(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)*time.Microsecond)
	}
	if middle, high := percentiles(took); middle != 101 || high < 198.9 || high > 199.1 {
		t.Errorf("%v, %v", middle, high)
	}
}

func TestRowsWithOneSideSayNothingOfASecond(t *testing.T) {
	b := &bench{options: options{suite: rmrSuite, rounds: 2}, temp: t.TempDir(), sides: [2]system{{name: "floe"}}}
	var out strings.Builder
	r := newReport(b, &out)
	r.add(result{row: row{name: "r", table: forwarding}, samples: [2][]sample{{{messages: 5, cores: 0.1}}}})
	for _, want := range []string{"the median of 2 rounds", "| r | 5.00 | - | - | 0.10 | limited by the clients |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	var order []string
	if got := b.runRow(t.Context(), row{runner: recorder{&order, 0}}); got.err != nil || strings.Join(order, " ") != "floe floe" {
		t.Errorf("ran on %q: %v", order, got.err)
	}
}

func TestSinksCountBytesAndSettle(t *testing.T) {
	s, err := newSinks(2)
	if err != nil {
		t.Fatal(err)
	}
	w := forward{seconds: 0.01, size: 16}
	f, err := w.frames()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", s.names[1])
	if err != nil {
		t.Fatal(err)
	}
	sent, err := w.pump(t.Context(), nc, s, f)
	if err != nil || sent == 0 {
		t.Fatalf("sent %d: %v", sent, err)
	}
	if _, err := s.settle(t.Context(), sent*int64(f.length)); err != nil || s.bytes.Load() != sent*int64(f.length) {
		t.Errorf("%d bytes, %d messages: %v", s.bytes.Load(), sent, err)
	}
	nc.Close()
	s.close()
	s.wg.Wait()
}
