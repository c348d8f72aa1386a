package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"floe/cluster"
	"floe/fsm"
)

// BenchmarkRequestsInFlight measures what it costs to have no pipeline: the
// time of 512 small changes, made by some clients at a time through the
// leader of three nodes on real sockets and disks, with 1, 2 (Raft's default)
// and 8 requests in flight. Rounds take turns; the medians are reported.
//
//	go test ./cluster -run '^$' -bench RequestsInFlight -benchtime 15x
func BenchmarkRequestsInFlight(b *testing.B) {
	defer cluster.SetRPCsInFlight(1)
	settings := []int{1, 2, 8}
	clusters := map[int]*realNode{}
	for _, inFlight := range settings {
		cluster.SetRPCsInFlight(inFlight)
		clusters[inFlight] = threeReal(b)
	}
	for _, clients := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			took := map[int][]float64{}
			for round := 0; b.Loop(); round++ {
				for i := range settings {
					inFlight := settings[(i+round)%len(settings)]
					took[inFlight] = append(took[inFlight], change512(b, clusters[inFlight], clients).Seconds()*1000)
				}
			}
			for _, inFlight := range settings {
				b.ReportMetric(median(took[inFlight]), fmt.Sprintf("ms/inflight=%d", inFlight))
			}
			b.ReportMetric(median(took[2])/median(took[1]), "ratio2:1")
		})
	}
}

// threeReal starts three nodes and returns the leader.
func threeReal(b *testing.B) *realNode {
	var nodes []*realNode
	for range 3 {
		n := startReal(b, func(c *cluster.Config) {
			for _, other := range nodes {
				c.Join = append(c.Join, other.port.Advertised())
			}
		})
		b.Cleanup(func() { n.close(b) })
		nodes = append(nodes, n)
	}
	waitReal(b, "three voters", func() error {
		for _, n := range nodes {
			if n.View().Voters() != 3 || n.Ready() != nil {
				return errors.New("not yet")
			}
		}
		return nil
	})
	return nodes[slices.IndexFunc(nodes, func(n *realNode) bool { return n.IsLeader() })]
}

// change512 makes 512 changes, so many at a time, and returns how long it took.
func change512(b *testing.B, n *realNode, clients int) time.Duration {
	begun := time.Now()
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			name := fmt.Sprintf("topic-%d", client)
			for range 512 / clients / 2 {
				if _, err := n.Propose(b.Context(), create(name), "bench"); err != nil {
					b.Error(err)
				}
				if _, err := n.Propose(b.Context(), fsm.DestroyTopic{Name: name}, "bench"); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
