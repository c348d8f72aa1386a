package routing_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"floe/routing"
)

func block(k routing.Kind, records ...routing.Record) routing.Update {
	return routing.Update{Blocks: []routing.Block{{Kind: k, Records: records}}}
}

func assign(owner string, meids ...string) routing.Record {
	return routing.Record{Verb: routing.Assign, Owner: owner, MEIDs: meids}
}

func release(meids ...string) routing.Record {
	return routing.Record{Verb: routing.Release, MEIDs: meids}
}

func apply(t testing.TB, s routing.State, records ...routing.Record) routing.State {
	t.Helper()
	next, _, err := s.Apply(block(routing.MapUpdate, records...))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestLatestOwnerHolds is case M02.
func TestLatestOwnerHolds(t *testing.T) {
	s := apply(t, routing.State{}, assign("e1:1", "g1"), assign("e2:1", "g1"))
	if got, _ := s.MEIDs.Owner("g1"); got != "e2:1" {
		t.Errorf("got %s", got)
	}
	if got := string((&routing.Encoder{ID: "1"}).Full(s, nil)[0]); strings.Count(got, "g1") != 1 {
		t.Errorf("g1 is named more than once:\n%s", got)
	}
	names, counts := s.MEIDs.Owners()
	if diff := cmp.Diff(names, []string{"e2:1"}); diff != "" || counts[0] != 1 {
		t.Errorf("owners %v with %v MEIDs", names, counts)
	}
}

// TestUnknownMEID is case M05.
func TestUnknownMEID(t *testing.T) {
	s := load(t, state(t, table("mse|100|-1|%meid")), "meid_map|start\nmme_del|never\nmeid_map|end|1\n")
	for _, meid := range []string{"never", "", strings.Repeat("x", 200)} {
		if a := s.Explain(routing.Query{MType: 100, SubID: -1, MEID: meid}); a.Reason != routing.UnknownMEID {
			t.Errorf("%q: %+v", meid, a)
		}
		if _, ok := s.MEIDs.Owner(meid); ok {
			t.Errorf("%q has an owner", meid)
		}
	}
}

// TestManyMEIDs is case M09: 500 ids, double blanks and tabs.
func TestManyMEIDs(t *testing.T) {
	list := strings.ReplaceAll(strings.ReplaceAll(ids(0, 500), "9 ", "9  "), "7 ", "7\t")
	s := state(t, "meid_map|start\nmme_ar|o:1|"+list+"\nmeid_map|end|1\n")
	for name, text := range map[string]string{
		"printed": string(s.AppendText(nil)),
		"full":    string((&routing.Encoder{ID: "1"}).Full(s, nil)[0]),
		"delta":   "newrt|start\nnewrt|end\n" + string((&routing.Encoder{ID: "1"}).Delta(s, routing.Diff(routing.State{}, s))[0]),
	} {
		for _, l := range strings.Split(text, "\n") {
			if n := strings.Count(l, " ") + 1; n > 100 || strings.Contains(l, "  ") || strings.Contains(l, "\t") {
				t.Errorf("%s: record of %d MEIDs: %s", name, n, l)
			}
		}
		r := app0()
		if _, err := r.Push(text); err != nil || len(r.MEIDs()) != 500 || r.MEIDs()["k499"] != "o:1" {
			t.Errorf("%s: a program holds %d MEIDs, %v", name, len(r.MEIDs()), err)
		}
	}
}

// TestLongMEID is case M11.
func TestLongMEID(t *testing.T) {
	for n, fine := range map[int]bool{31: true, 32: false, 40: false} {
		text := "meid_map|start\nmme_ar|o:1|" + strings.Repeat("m", n) + "\nmeid_map|end|1\n"
		err := routing.Parse(text, routing.Options{}).Err()
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "31") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestNearSpellings is case M10.
func TestNearSpellings(t *testing.T) {
	s := state(t, table("mse|100|-1|%meid", "mme_ar|o:1|gnb_001_001_0000019b gnb_001_001_0000019c gnb_001_001_00000aaa GNB_1_1_19B other m000"))
	tests := []struct {
		meid string
		want []string
	}{
		{"gnb_001_001_00019b", []string{"GNB_1_1_19B", "gnb_001_001_0000019b"}},
		{"gnb_001_001_0000019d", []string{"gnb_001_001_0000019b", "gnb_001_001_0000019c"}},
		{"othr", []string{"other"}},
		{"m0", []string{"m000"}},
		{"nothing-like-it", nil},
	}
	for _, test := range tests {
		a := s.Explain(routing.Query{MType: 100, SubID: 7, MEID: test.meid})
		if diff := cmp.Diff(a.Near, test.want); diff != "" || a.Reason != routing.UnknownMEID {
			t.Errorf("%s (- got, + want):\n%s", test.meid, diff)
		}
	}
}

// TestMapIsTheModel compares large random maps with Go maps, old versions
// with what they were.
func TestMapIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			s    routing.State
			want map[string]string
		}
		versions := []version{{want: map[string]string{}}}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			v := rapid.SampledFrom(versions).Draw(t, "from")
			want := maps.Clone(v.want)
			var records []routing.Record
			for range rapid.IntRange(1, 60).Draw(t, "records") {
				from, n := rapid.IntRange(0, 400).Draw(t, "meid"), rapid.IntRange(1, 40).Draw(t, "meids")
				var meids []string
				for i := range n {
					meids = append(meids, fmt.Sprintf("gnb_%d", from+i))
				}
				owner := fmt.Sprintf("o:%d", rapid.IntRange(1, 5).Draw(t, "owner"))
				drop := rapid.Bool().Draw(t, "delete")
				for _, m := range meids {
					if want[m] = owner; drop {
						delete(want, m)
					}
				}
				if drop {
					records = append(records, release(meids...))
				} else {
					records = append(records, assign(owner, meids...))
				}
			}
			next, _, err := v.s.Apply(block(routing.MapUpdate, records...))
			if err != nil {
				t.Fatal(err)
			}
			versions = append(versions, version{next, want})
		}
		for _, v := range versions {
			got := maps.Collect(v.s.MEIDs.All())
			if !maps.Equal(got, v.want) || v.s.MEIDs.Len() != len(v.want) {
				t.Fatalf("got %d MEIDs, want %d", len(got), len(v.want))
			}
			checkOwners(t, v.s.MEIDs, v.want)
			var fresh []routing.Record
			for _, m := range slices.Sorted(maps.Keys(v.want)) {
				fresh = append(fresh, assign(v.want[m], m))
			}
			again, _, err := routing.State{}.Apply(block(routing.MapUpdate, fresh...))
			if err != nil || again.Digest() != v.s.Digest() {
				t.Fatalf("digest %v, made anew %v", v.s.Digest(), again.Digest())
			}
			if !slices.Equal(keys(again.MEIDs), keys(v.s.MEIDs)) {
				t.Fatal("the order of All depends on how the map came about")
			}
		}
	})
}

func keys(m *routing.MEIDMap) []string {
	var list []string
	for k := range m.All() {
		list = append(list, k)
	}
	return list
}

func checkOwners(t *rapid.T, m *routing.MEIDMap, want map[string]string) {
	count := map[string]int{}
	for meid, owner := range want {
		count[owner]++
		if got, ok := m.Owner(meid); !ok || got != owner {
			t.Fatalf("%s: got %s, want %s", meid, got, owner)
		}
	}
	names, counts := m.Owners()
	if len(names) != len(count) {
		t.Fatalf("owners %v, want %v", names, count)
	}
	for i, n := range names {
		if counts[i] != count[n] {
			t.Fatalf("%s owns %d, want %d", n, counts[i], count[n])
		}
	}
}

func TestTombstones(t *testing.T) {
	s := apply(t, routing.State{}, assign("o:1", "a", "b", "c"))
	del := func(index uint64, before *routing.Tombstones, r ...routing.Record) *routing.Tombstones {
		next, c, err := s.Apply(block(routing.MapUpdate, r...))
		if err != nil {
			t.Fatal(err)
		}
		s = next
		return before.After(index, c.MEIDs, s.MEIDs)
	}
	var none *routing.Tombstones
	one := del(5, none, release("a", "b", "never"))
	two := del(7, one, assign("o:2", "b"), release("c"))
	for _, test := range []struct {
		name string
		got  []string
		want []string
	}{
		{"one", one.Since(0), []string{"a", "b"}},
		{"two", two.Since(0), []string{"a", "c"}},
		{"since the first", two.Since(5), []string{"c"}},
		{"pruned", two.Prune(5).Since(0), []string{"c"}},
		{"restored", none.Restore(two.All()).Since(0), []string{"a", "c"}},
	} {
		if diff := cmp.Diff(test.got, test.want); diff != "" {
			t.Errorf("%s (- got, + want):\n%s", test.name, diff)
		}
	}
	if none.Restore(two.All()).Digest() != two.Digest() || two.Digest() == one.Digest() {
		t.Error("digests do not follow the content")
	}
	if two.Prune(7).Digest() != none.Digest() || two.Prune(7).Len() != 0 || two.Prune(4) != two {
		t.Error("pruned wrongly")
	}
}
