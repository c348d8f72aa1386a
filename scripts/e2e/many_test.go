package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/transport/http/api"
)

// W14: ten thousand topics on three nodes are listed by the stock tool, and the last thousand were made as easily as the
// first. That is measured in processor time, which does not depend on what else the machine does.
func TestTenThousandTopicsOnThreeNodes(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	s := service(c.WaitLeader())
	create := func(prefix string, count, inflight int) (cpu time.Duration) {
		t.Helper()
		before := cpuTime(t, c.Nodes)
		call(t, s, "create-many", "--count", fmt.Sprint(count), "--inflight", fmt.Sprint(inflight), "--prefix", prefix)
		return cpuTime(t, c.Nodes) - before
	}
	first := create("first-", 1000, 16)
	create("topic-", 8000, 64)
	last := create("last-", 1000, 16)
	if last > 2*first {
		t.Errorf("the last thousand took %v, the first %v", last, first)
	}
	t.Logf("the first thousand took %v, the last %v", first, last)
	var want []string
	for prefix, count := range map[string]int{"first-": 1000, "topic-": 8000, "last-": 1000} {
		for i := range count {
			want = append(want, fmt.Sprint(prefix, i))
		}
	}
	slices.Sort(want)
	c.WaitSame()
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

// cpuTime is what the nodes' processes have used of the processors, exact to 10 ms (proc_pid_stat(5), utime and stime).
func cpuTime(t *testing.T, nodes []*floetest.Node) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, n := range nodes {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}
