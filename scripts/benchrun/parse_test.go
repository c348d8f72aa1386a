package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsOfAPublisher(t *testing.T) {
	got := fields("published 397322 acked 397320 errors 2 seconds 3.02041")
	want := map[string]float64{"published": 397322, "acked": 397320, "errors": 2, "seconds": 3.02041}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFieldsPassOverWhatIsNoPair(t *testing.T) {
	got := fields("created 500 odd words errors 0 per_second")
	if d := cmp.Diff(map[string]float64{"created": 500, "errors": 0}, got); d != "" {
		t.Error(d)
	}
	if got := fields(""); len(got) > 0 {
		t.Errorf("got %v of an empty line", got)
	}
}

func TestParseSummary(t *testing.T) {
	// As icepeer subscribe --print summary ends; the topic's name is one of the fields' names.
	line := "summary count count 42045 dup 1 gaps 2 inversions 0 foreign 0 p50 985661376 p99 1333788608 max 1369213618 seconds 3.88312"
	got, err := parseSummary(line)
	if err != nil {
		t.Fatal(err)
	}
	want := received{count: 42045, dup: 1, seconds: 3.88312, p50: 985661376, p99: 1333788608}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "summary", "summary T", "summary T dup 1", "event T count 3", "summarycount 3 count 3"} {
		if got, err := parseSummary(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	stat := "4711 (ice (box) 1) S 1 4711 4711 0 -1 4194560 2219 0 0 0 135 100 7 8 20 0 9 0 1892 1128648704 2980"
	got, err := parseStat(stat)
	if err != nil || got != 2350*time.Millisecond {
		t.Errorf("got %v, %v; want 2.35s", got, err)
	}
	for _, bad := range []string{"", "no bracket 1 2 3", "1 (x) S 1 2", "1 (x) S 1 1 1 0 -1 4 2 0 0 0 a b 7 8"} {
		if got, err := parseStat(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestParseSchedstat(t *testing.T) {
	if got, err := parseSchedstat("1234567 89 10\n"); err != nil || got != 1234567 {
		t.Errorf("got %v, %v; want 1.234567ms", got, err)
	}
	for _, bad := range []string{"", "1 2", "x 2 3"} {
		if got, err := parseSchedstat(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestRunTimeGrowsWithWork(t *testing.T) {
	me := []int{os.Getpid()}
	before, err := runTime(me)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for after := before; after == before; after, err = runTime(me) {
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("stands at %v: %v", before, err)
		}
	}
	if _, err := runTime([]int{1 << 30}); err == nil {
		t.Error("no error for a process that doesn't exist")
	}
}

func TestParseStatus(t *testing.T) {
	status := "Name:\tVmRSS: 1 kB\nVmHWM:\t   12208 kB\nVmRSS:\t    9000 kB\nThreads:\t9\n"
	if got, err := parseStatus(status, "VmRSS"); err != nil || got != 9000 {
		t.Errorf("got %v, %v; want 9000", got, err)
	}
	for _, absent := range []string{"VmSwap", "Threads", "VmHW"} {
		if got, err := parseStatus(status, absent); err == nil {
			t.Errorf("%s: got %v, want an error", absent, got)
		}
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nmodel name\t: other\n"); got != "AMD EPYC" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel(""); got != "unknown" {
		t.Errorf("got %q", got)
	}
}
