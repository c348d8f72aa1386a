package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 8 << 20: 200, 16 << 20: 100, 1 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("live heap of %d bytes: %d %%, want %d", live, got, want)
		}
	}
}

func TestCollectorIsPacedAgainAfterACycle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	paceCollector(func(string) string { return "" })
	for i := 0; ; i++ {
		debug.SetGCPercent(123)
		runtime.GC()
		if now := debug.SetGCPercent(123); now != 123 {
			return
		}
		if i == 1000 {
			t.Fatal("the pace was set once only")
		}
		runtime.Gosched()
	}
}

func TestGOGCRules(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(123))
	paceCollector(func(string) string { return "50" })
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("the pace was changed to %d", got)
	}
}
