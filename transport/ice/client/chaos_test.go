package client

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// TestNothingTwiceAndInOrder publishes while servers die, close and are cut:
// no event may be executed twice, the order is kept, and what is counted as
// delivered was executed.
func TestNothingTwiceAndInOrder(t *testing.T) {
	const n = 2000
	ordered := topics.Setting{Key: "reliability", Value: "ordered"}
	st := newStand(t, Config{FlushInterval: 2 * time.Millisecond}, delivery.Config{FirstDelay: time.Millisecond, MaxDelay: time.Millisecond})
	servers := map[string]*server{}
	for id, mode := range map[string]proto.ProxyMode{"ordered": proto.Twoway, "oneway": proto.Oneway, "batch": proto.BatchOneway} {
		s := newServer(t)
		random := rand.New(rand.NewPCG(1, uint64(len(id))))
		s.set(func(s *server) {
			s.judge = func(*proto.Request) verdict {
				return []verdict{answerOK, die, closeGracefully, answerUnknown}[max(0, random.IntN(100)-96)]
			}
		})
		qos := []topics.Setting{retry("-1")}
		if mode == proto.Twoway {
			qos = append(qos, ordered)
		}
		st.group.subscribe(id, proxyTo(mode, s.endpoint()), qos...)
		servers[id] = s
	}
	for i, name := range names(n) {
		st.publish(name)
		if i%100 == 99 {
			servers["batch"].cut()
			servers["oneway"].cut()
			eventually(t, "not too much waits", func() bool { return st.Stats().Total.Queued < 1000 })
		}
	}
	eventually(t, "all is sent", func() bool { return st.Stats().Total.Queued == 0 })
	for _, r := range st.Stats().Topics[0].Receivers {
		got := servers[r.Identity.Name].executed()
		checkSequence(t, r.Identity.Name, got)
		if r.Offered != n || r.Offered != r.Delivered+r.Lost() {
			t.Errorf("%s: counters don't add up: %+v", r.Identity.Name, r.Counts)
		}
		if r.Identity.Name == "ordered" && (uint64(len(got)) < r.Delivered || len(got) < n*9/10) {
			t.Errorf("ordered: %d executed, %d counted as delivered", len(got), r.Delivered)
		}
	}
}

// checkSequence checks that e0, e1, ... come in order, each once at most.
func checkSequence(t *testing.T, who string, got []string) {
	t.Helper()
	numbers := make([]int, len(got))
	for i, name := range got {
		numbers[i], _ = strconv.Atoi(name[1:])
	}
	if !slices.IsSorted(numbers) || len(slices.Compact(numbers)) != len(got) {
		t.Errorf("%s: out of order, or twice: %v", who, got)
	}
}
