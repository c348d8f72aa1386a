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

// After a large load the memory goes back to the system by itself, once.
func TestQuietNodeGivesMemoryBack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // nothing is collected in between
	debug.FreeOSMemory()
	p := &pacer{seen: readHeap().allocated}
	burst()
	before := readHeap()
	p.quiet()
	if p.kept != 0 || p.timer == nil {
		t.Fatal("given back while a lot is allocated")
	}
	p.timer.Stop()
	p.quiet()
	if after := readHeap(); p.kept == 0 || after.taken+worthFreeing > before.taken {
		t.Errorf("%d bytes of heap, %d before", after.taken, before.taken)
	}
	kept := p.kept
	if p.quiet(); p.kept != kept {
		t.Error("given back twice")
	}
}

// burst makes garbage of more than is worth freeing.
func burst() {
	var all [][]byte
	for range 2 * worthFreeing / (1 << 20) {
		all = append(all, make([]byte, 1<<20))
	}
	runtime.KeepAlive(all)
}
