package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// heapSlack is how much garbage may gather before it is collected, where the
	// live heap is smaller than that. A small node that forwards events would
	// else collect every few megabytes, which cost a third of its time.
	heapSlack = 16 << 20
	// quietFor is how long no cycle of the collector must have run for the node to
	// count as quiet, and quietRate how many bytes a second it may allocate then.
	quietFor  = 2 * time.Second
	quietRate = 4 << 20
	// worthFreeing is by how many bytes the heap must have grown over what was
	// left of it when the system was given memory back last.
	worthFreeing = 32 << 20
)

// pacer keeps the garbage collector at one cycle for each heapSlack bytes or
// doubling of the heap, whichever is more. And it gives memory back when a
// large load is over: the collector only runs when the heap grows, so that what
// the load left behind would stay for minutes, twice the size of what lives.
type pacer struct {
	mu    sync.Mutex
	timer *time.Timer
	seen  uint64 // bytes allocated ever, when the timer was set
	kept  uint64 // bytes of the heap when memory was given back last
}

// paceCollector starts the pacer. GOGC in the environment rules where it is set.
func paceCollector(environ func(string) string) {
	if environ("GOGC") == "" {
		(&pacer{}).cycle()
	}
}

// cycle adjusts the pace to the live heap, now and after each cycle of the
// collector.
func (p *pacer) cycle() {
	debug.SetGCPercent(gcPercent(readHeap().live))
	runtime.AddCleanup(new([16]byte), func(p *pacer) { p.cycle() }, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch()
}

// watch has quiet called after a while; the caller holds mu.
func (p *pacer) watch() {
	p.seen = readHeap().allocated
	if p.timer == nil {
		p.timer = time.AfterFunc(quietFor, p.quiet)
	} else {
		p.timer.Reset(quietFor)
	}
}

// quiet gives memory back if no cycle ran lately, little is allocated, and it
// is worth while.
func (p *pacer) quiet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := readHeap()
	switch {
	case h.allocated-p.seen > uint64(quietRate*quietFor.Seconds()):
		p.watch()
	case h.taken > p.kept+worthFreeing:
		debug.FreeOSMemory()
		p.kept = readHeap().taken
	}
}

// gcPercent is the value of GOGC that allows heapSlack of garbage on so much
// live heap; never less than Go's own 100, never more than 400.
func gcPercent(live uint64) int {
	return int(min(max(100, 100*heapSlack/max(live, 1)), 400))
}

// heap says how large the heap is, in bytes.
type heap struct {
	live      uint64 // what the last cycle left
	allocated uint64 // ever
	taken     uint64 // of the system: objects, dead or alive, and room for more
}

func readHeap() heap {
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(s)
	for _, m := range s {
		if m.Value.Kind() != metrics.KindUint64 {
			return heap{live: heapSlack} // a later Go without one of them: its own pace
		}
	}
	return heap{live: s[0].Value.Uint64(), allocated: s[1].Value.Uint64(), taken: s[2].Value.Uint64() + s[3].Value.Uint64() + s[4].Value.Uint64()}
}
