package routing_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"floe/routing"
)

func routesText(n int) string {
	var b strings.Builder
	b.WriteString("newrt|start|t\n")
	for i := range n {
		fmt.Fprintf(&b, "mse|%d|%d|app%d.ricxapp:4560,app%d.ricxapp:4560\n", 100+i%5000, i/5000-1, i%100, i%101)
	}
	fmt.Fprintf(&b, "newrt|end|%d\n", n)
	return b.String()
}

func mapText(n int) string {
	var b strings.Builder
	b.WriteString("meid_map|start|m\n")
	for i := 0; i < n; i += 100 {
		fmt.Fprintf(&b, "mme_ar|e2term%d.ricplt:38000|", i/100%50)
		for j := range 100 {
			if j > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "gnb_001_001_%08x", i+j)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "meid_map|end|%d\n", (n+99)/100)
	return b.String()
}

func BenchmarkLookupType(b *testing.B) {
	s := state(b, routesText(100_000))
	from := routing.Sender{Source: "app1.ricxapp:4560", Address: "10.0.0.1:4560"}
	var c routing.Chooser
	run := func(name string, subID int32, pick bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := int32(0)
			for b.Loop() {
				e := s.Table.Lookup(100+i%5000, subID, from)
				if e == nil {
					b.Fatal("no entry")
				}
				if pick {
					if _, ok := c.Pick(e, 0, nil); !ok {
						b.Fatal("no member")
					}
				}
				i++
			}
		})
	}
	run("exact", 3, false)
	run("fallback", 77, false)
	run("exact and pick", 3, true)
}

func BenchmarkLookupMEID(b *testing.B) {
	s := state(b, mapText(1_000_000))
	meids := make([]string, 4096)
	for i := range meids {
		meids[i] = fmt.Sprintf("gnb_001_001_%08x", i*239)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok := s.MEIDs.Owner(meids[i%len(meids)]); !ok {
			b.Fatal("unknown")
		}
		i++
	}
}

// BenchmarkMEIDMemory says what a million MEIDs take.
func BenchmarkMEIDMemory(b *testing.B) {
	text := mapText(1_000_000)
	for b.Loop() {
		before := heap()
		s := state(b, text)
		after := heap()
		b.ReportMetric(float64(after-before)/1e6, "MB/1M-MEIDs")
		runtime.KeepAlive(s)
	}
	runtime.KeepAlive(text)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkLoadTable(b *testing.B) {
	text := routesText(100_000)
	p := routing.Parse(text, routing.Options{})
	s := state(b, text)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			routing.Parse(text, routing.Options{})
		}
	})
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := (routing.State{}).Apply(p.Update); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("print", func(b *testing.B) {
		for b.Loop() {
			s.AppendText(nil)
		}
	})
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			(&routing.Encoder{ID: "v"}).Full(s, nil)
		}
	})
	delta := routing.Parse("updatert|start\nmse|100|-1|z:1\nupdatert|end|1\n", routing.Options{}).Update
	b.Run("delta", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Apply(delta); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLoadMap(b *testing.B) {
	text := mapText(1_000_000)
	p := routing.Parse(text, routing.Options{})
	s := state(b, text)
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			routing.Parse(text, routing.Options{})
		}
	})
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := (routing.State{}).Apply(p.Update); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("print", func(b *testing.B) {
		for b.Loop() {
			s.AppendText(nil)
		}
	})
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			(&routing.Encoder{ID: "v"}).Full(s, nil)
		}
	})
	delta := block(routing.MapUpdate, assign("new:1", "gnb_001_001_00000007", "another"))
	b.Run("delta", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Apply(delta); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("near", func(b *testing.B) {
		for b.Loop() {
			s.MEIDs.Near("gnb_001_001_00001")
		}
	})
}
