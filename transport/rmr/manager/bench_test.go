package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/scripts/rmrapp"
)

// BenchmarkChange is from a change to the last acknowledgement of so many
// connected apps.
func BenchmarkChange(b *testing.B) {
	for _, apps := range []int{100, 1000} {
		b.Run(fmt.Sprint(apps), func(b *testing.B) {
			g := newGroup(b)
			g.load(b, "mse|100|-1|a:1")
			m := serve(b, g)
			fleet, err := rmrapp.StartFleet(apps, func(int) rmrapp.Config { return rmrapp.Config{RouteManager: m.address, Keep: 10} })
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(fleet.Close)
			settle(b, g, m, fleet)
			n := 1
			for b.Loop() {
				n++
				g.load(b, "updatert|start", fmt.Sprintf("mse|100|-1|a:%d", 1+n%60000))
				settle(b, g, m, fleet)
			}
			if err := fleet.Faults(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkFullTable encodes a table or map for an app that knows nothing,
// BenchmarkOneMEID a change of one MEID of a million.
func BenchmarkFullTable(b *testing.B) {
	for name, lines := range map[string][]string{"100000 entries": entries(100_000), "1000000 MEIDs": meids(1_000_000)} {
		b.Run(name, func(b *testing.B) {
			g := newGroup(b)
			loadAll(b, g, lines)
			m := New(Config{Group: g})
			b.Cleanup(m.stop)
			e := newEdition(nil, g.View(), "n1")
			b.ReportAllocs()
			for b.Loop() {
				c := m.encodeTable(e, nil, nil)
				b.SetBytes(int64(c.size))
			}
		})
	}
}

func BenchmarkOneMEID(b *testing.B) {
	g := newGroup(b)
	loadAll(b, g, meids(1_000_000))
	m := New(Config{Group: g})
	b.Cleanup(m.stop)
	e := newEdition(nil, g.View(), "n1")
	g.load(b, "updatert|start", "mme_ar|o:9|gnb_5")
	next := newEdition(e, g.View(), "n1")
	b.ReportAllocs()
	for b.Loop() {
		d := differ(e, next)
		if c := m.encodeUpdate(e, next, &d, nil); len(c.texts) != 1 || c.size > 100 {
			b.Fatalf("%d bytes", c.size)
		}
	}
}

func entries(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("mse|%d|%d|host-%d:4560;host-%d:4560,other:4560", 100+i%1000, i/1000, i%50, i%20))
	}
	return lines
}

func meids(n int) []string {
	var lines []string
	for i := 0; i < n; i += 100 {
		var some []string
		for j := range 100 {
			some = append(some, fmt.Sprintf("gnb_%d", i+j))
		}
		lines = append(lines, fmt.Sprintf("mme_ar|o:%d|%s", 1+i/100%50, strings.Join(some, " ")))
	}
	return lines
}

// loadAll loads what one command can't hold.
func loadAll(b *testing.B, g *group, lines []string) {
	g.load(b)
	for some := range slices.Chunk(lines, 2000) {
		g.load(b, append([]string{"updatert|start"}, some...)...)
	}
}

// BenchmarkFirstTable is from the start of an app to its acknowledgement.
func BenchmarkFirstTable(b *testing.B) {
	for name, lines := range map[string][]string{"100000 entries": entries(100_000), "1000000 MEIDs": meids(1_000_000)} {
		b.Run(name, func(b *testing.B) {
			g := newGroup(b)
			loadAll(b, g, lines)
			m := serve(b, g)
			for b.Loop() {
				a := start(b, m.address)
				if err := a.WaitReady(soon(b)); err != nil {
					b.Fatal(err)
				}
				a.Close()
			}
		})
	}
}
