package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/scripts/peers"
	"floe/transport/http/api"
)

// W14: ten thousand topics on three nodes are listed by the stock tool, and the last thousand were made about as fast as
// the first.
func TestTenThousandTopicsOnThreeNodes(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	s := service(c.WaitLeader())
	make := func(prefix string, count, inflight int) (seconds float64) {
		t.Helper()
		line := call(t, s, "create-many", "--count", fmt.Sprint(count), "--inflight", fmt.Sprint(inflight), "--prefix", prefix)[0]
		var made, errors int
		if _, err := fmt.Sscanf(line, "created %d errors %d seconds %g", &made, &errors, &seconds); err != nil || made != count || errors != 0 {
			t.Fatalf("create-many: %q: %v", line, err)
		}
		return seconds
	}
	first := make("first-", 1000, 16)
	make("topic-", 8000, 64)
	last := make("last-", 1000, 16)
	if last > 2*first {
		t.Errorf("the last thousand took %.2f s, the first %.2f s", last, first)
	}
	t.Logf("first thousand %.2f s, last %.2f s", first, last)
	var want []string
	for prefix, count := range map[string]int{"first-": 1000, "topic-": 8000, "last-": 1000} {
		for i := range count {
			want = append(want, fmt.Sprint(prefix, i))
		}
	}
	slices.Sort(want)
	for _, n := range c.Nodes {
		if got := admin(t, service(n), "topics"); got != strings.Join(want, "\n")+"\n" {
			t.Errorf("%s: the stock tool lists %d topics", n.ID, strings.Count(got, "\n"))
		}
		if got := list[api.Topic](n, t, "topics"); len(got) != len(want) {
			t.Errorf("%s: %d topics", n.ID, len(got))
		}
	}
	// The proxies of so long a list have fewer endpoints, and still work.
	peers.Publish(t, service(c.Nodes[1]), peers.CPP, "last-999")
}
