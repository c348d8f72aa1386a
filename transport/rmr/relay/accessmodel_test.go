package relay

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"
)

// What a connection goes by says of each type what the rules say.
func TestKeptOutIsWhatTheRulesSay(t *testing.T) {
	places := []string{"any", "none", "10.0.0.0/8", "10.0.0.1", "10.0.0.2,fd00::/8"}
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("127.0.0.1"), {}}
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(math.MaxInt32-2, math.MaxInt32)), 0, 8, rapid.ID).Draw(t, "bounds")
		slices.Sort(bounds)
		type one struct {
			first, last int64
			who         string
		}
		var rules []one
		for i := 0; i+1 < len(bounds); i += 2 {
			rules = append(rules, one{bounds[i], bounds[i+1], rapid.SampledFrom(places).Draw(t, "who")})
		}
		rest := rapid.SampledFrom(append(places, "")).Draw(t, "rest")
		var texts []string
		for _, r := range rules {
			texts = append(texts, fmt.Sprintf("%d-%d=%s", r.first, r.last, r.who))
		}
		if rest != "" {
			texts = append(texts, "*="+rest)
		}
		a, err := ParseAccess(strings.Join(rapid.Permutation(texts).Draw(t, "order"), ";"))
		if err != nil {
			t.Fatal(err)
		}
		let := func(who string, from netip.Addr) bool {
			p, err := parsePlaces(who)
			if err != nil {
				t.Fatal(err)
			}
			return p.let(from)
		}
		types := []int64{math.MinInt32, -1, 31, 1 << 20, math.MaxInt32 - 3}
		for mtype := range int64(31) {
			types = append(types, mtype, math.MaxInt32-mtype/10)
		}
		for _, from := range addresses {
			out := a.keptOut(from)
			for i := 1; i < len(out); i++ {
				if int64(out[i-1].last)+1 >= int64(out[i].first) {
					t.Fatalf("%v is not in order, or not as short as can be", out)
				}
			}
			for _, mtype := range types {
				want := rest == "" || let(rest, from)
				for _, r := range rules {
					if r.first <= mtype && mtype <= r.last {
						want = let(r.who, from)
					}
				}
				if got := !out.has(int32(mtype)); got != want {
					t.Fatalf("%d from %v by %q: got %v, want %v", mtype, from, a, got, want)
				}
			}
		}
	})
}

// Each address has a line of its own in ten seconds, a hundred of them at a
// time; those beyond have one together.
func TestComplaintsOfAddresses(t *testing.T) {
	c, now := newComplaints(hclog.NewNullLogger(), nil), time.Now()
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	said := func() (n int) {
		for i := range 2 * maxComplaints {
			if _, ok := c.may(complaint{"refused", address(i)}, now); ok {
				n++
			}
		}
		return n
	}
	if got := said(); got != maxComplaints+1 {
		t.Errorf("%d lines of %d addresses", got, 2*maxComplaints)
	}
	if got := said(); got != 0 {
		t.Errorf("%d lines at once again", got)
	}
	if _, ok := c.may(complaint{"something else", netip.Addr{}}, now); !ok {
		t.Error("another line is withheld")
	}
	now = now.Add(complainEvery)
	if withheld, ok := c.may(complaint{"refused", address(0)}, now); !ok || withheld != 1 {
		t.Errorf("after a while: %v, %d withheld", ok, withheld)
	}
	if withheld, ok := c.may(complaint{"refused", address(2 * maxComplaints)}, now); !ok || withheld != 0 {
		t.Errorf("an address that finds room: %v, %d withheld", ok, withheld)
	}
	if len(c.all) > maxComplaints+2 {
		t.Errorf("%d are kept", len(c.all))
	}
}

// BenchmarkKeptOut looks up a type among a thousand ranges.
func BenchmarkKeptOut(b *testing.B) {
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf("%d-%d=none", 10*i, 10*i+5))
	}
	a, err := ParseAccess(strings.Join(rules, ";"))
	if err != nil {
		b.Fatal(err)
	}
	out := a.keptOut(netip.MustParseAddr("10.0.0.1"))
	b.ReportAllocs()
	for b.Loop() {
		if !out.has(5003) || out.has(5008) {
			b.Fatal("not so")
		}
	}
}
