package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFiguresOfARun(t *testing.T) {
	got := figures(sent{1000, 1}, []received{
		{count: 1000, seconds: 2, p50: 50e3, p99: 200e3},
		{count: 510, dup: 10, seconds: 1, p50: 90e3, p99: 900e3},
		{count: 1000, seconds: 2.5, p50: 70e3, p99: 300e3},
	}, 25*time.Millisecond)
	want := sample{loss: 100 * 500.0 / 3000, delivered: 1000, cpuEvent: 10, cores: 0.01, p50: 70, p99: 900}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Error(d)
	}
}

func TestFiguresWhereNothingArrived(t *testing.T) {
	if d := cmp.Diff(sample{loss: 100}, figures(sent{10, 1}, []received{{}}, time.Second)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(sample{loss: 0}, figures(sent{0, 1}, []received{{}}, time.Second)); d != "" {
		t.Error(d)
	}
}

func TestLosingMostEventsIsNotFast(t *testing.T) {
	got := figures(sent{1000, 2}, []received{{count: 10, seconds: 0.001}}, time.Millisecond)
	if got[delivered] != 5 {
		t.Errorf("%v delivered/s, want 5", got[delivered])
	}
}
