package fsm_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/routing/derive"
)

// BenchmarkLoad applies a large load part by part. hold-ms is the longest
// time one log entry takes, for which it holds up other commands, commit-ms
// what the last one takes; try-ms the longest time a leader spends looking at
// one first. In half of them some routes and MEIDs are derived.
func BenchmarkLoad(b *testing.B) {
	for _, beside := range []string{"", "/beside facts"} {
		b.Run("entries=100000"+beside, func(b *testing.B) { benchmarkLoad(b, manyRoutes(100_000, 0), beside != "") })
		b.Run("meids=1000000"+beside, func(b *testing.B) { benchmarkLoad(b, manyRoutes(0, 1_000_000), beside != "") })
	}
}

// someDerived are facts that make a thousand MEIDs and a hundred routes.
func someDerived() fsm.Op {
	e2t := derive.Change{Kind: derive.PutE2T, E2T: "e:1"}
	for i := range 1000 {
		e2t.RANs = append(e2t.RANs, fmt.Sprintf("gnb_001_001_%08x", 977*i))
	}
	changes := []derive.Change{e2t}
	for i := range int32(100) {
		changes = append(changes, derive.Change{Kind: derive.AddRoute, Route: &derive.Route{MType: 100 + 7*i, SubID: -1, Groups: [][]string{{"h:1"}}}})
	}
	return facts(changes...)
}

func benchmarkLoad(b *testing.B, text string, beside bool) {
	update := warnless(text)
	parts := fsm.RouteParts(update)
	ops := make([]fsm.Op, 0, len(parts)+1)
	for i, p := range parts {
		stage := fsm.StageRoutes{Load: 1, Part: i, Blocks: p}
		if i == 0 {
			stage.MEIDs = fsm.MEIDsNamed(update)
		}
		ops = append(ops, stage)
	}
	ops = append(ops, fsm.CommitRoutes{Load: 1, Parts: len(parts)})
	logs, size := make([]*raft.Log, len(ops)), 0
	for i, op := range ops {
		logs[i] = entry(uint64(i+3), fsm.Command{Op: op})
		size = max(size, len(logs[i].Data))
	}
	var hold, try, commit time.Duration
	for b.Loop() {
		n := routeNode()
		if beside {
			n.op(someDerived())
		}
		for i, l := range logs {
			start := time.Now()
			n.View().Try(ops[i])
			try = max(try, time.Since(start))
			start = time.Now()
			if r := n.Apply(l).(fsm.Result); r.Err() != nil {
				b.Fatal(r.Err())
			}
			took := time.Since(start)
			hold = max(hold, took)
			if i == len(logs)-1 {
				commit = max(commit, took)
			}
		}
	}
	b.ReportMetric(float64(hold.Microseconds())/1000, "hold-ms")
	b.ReportMetric(float64(commit.Microseconds())/1000, "commit-ms")
	b.ReportMetric(float64(try.Microseconds())/1000, "try-ms")
	b.ReportMetric(float64(len(ops)), "log-entries")
	b.ReportMetric(float64(size)/1024, "largest-KiB")
}

// BenchmarkSnapshot writes and reads a million MEIDs; MB is what the state
// takes in memory.
func BenchmarkSnapshot(b *testing.B) {
	before := heap()
	n := largeNode()
	took := heap() - before
	good := snapshotOf(b, n.State)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			snapshotOf(b, n.State)
		}
		b.ReportMetric(float64(len(good))/1e6, "snapshot-MB")
		b.ReportMetric(float64(took)/1e6, "state-MB")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if err := emptyNode().Restore(io.NopCloser(bytes.NewReader(good))); err != nil {
				b.Fatal(err)
			}
		}
	})
	runtime.KeepAlive(n)
}

func largeNode() *node {
	n := routeNode()
	parts := fsm.RouteParts(warnless(manyRoutes(100_000, 1_000_000)))
	n.stage(1, parts)
	n.op(fsm.CommitRoutes{Load: 1, Parts: len(parts)})
	return n
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
