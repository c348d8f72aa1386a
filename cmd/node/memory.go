package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapSlack is how much garbage may gather before it is collected, where the
// live heap is smaller than that. A small node that forwards events would
// else collect every few megabytes, which cost a third of its time.
const heapSlack = 16 << 20

// paceCollector keeps the garbage collector at one cycle for each heapSlack
// bytes or doubling of the heap, whichever is more. GOGC in the environment
// rules where it is set.
func paceCollector(environ func(string) string) {
	if environ("GOGC") == "" {
		setPace()
	}
}

// setPace adjusts the pace to the live heap, now and after each cycle.
func setPace() {
	debug.SetGCPercent(gcPercent(liveHeap()))
	runtime.AddCleanup(new([16]byte), func(int) { setPace() }, 0)
}

// gcPercent is the value of GOGC that allows heapSlack of garbage on so much
// live heap; never less than Go's own 100, never more than 400.
func gcPercent(live uint64) int {
	return int(min(max(100, 100*heapSlack/max(live, 1)), 400))
}

// liveHeap is what the last cycle left, in bytes.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return heapSlack
	}
	return s[0].Value.Uint64()
}
