package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster"
	"floe/cluster/clustertest"
)

// TestLostAnswersWedgeNobody: a follower whose answers get lost, over and over
// while changes are made, has them all soon after. Raft's pipeline, which may
// stop for good towards such a follower and goes round the gate, is not used.
func TestLostAnswersWedgeNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3, func(cfg *cluster.Config) {
			disk := &clustertest.Disk{Delay: func() time.Duration { return 2 * time.Millisecond }}
			cfg.Backend = disk.Open
		})
		leader, unheard := c.Leader(), c.Follower()
		if err := leader.Pipeline(unheard.Name); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
			t.Errorf("a pipeline: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for writer := range 4 {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					_, err := leader.Propose(ctx, create(fmt.Sprintf("w%d-%d", writer, i)), "test")
					if err != nil && ctx.Err() == nil {
						t.Errorf("a change while one follower is not heard: %v", err)
					}
					time.Sleep(40 * time.Millisecond)
				}
			})
		}
		for range 4 {
			c.Network.LoseAnswers(leader.Name, unheard.Name)
			lost := leader.View().Index
			began := time.Now()
			time.Sleep(2500 * time.Millisecond) // the request's time and the next try
			if got := unheard.View().Index; got <= lost {
				t.Fatalf("%v after an answer was lost %s is at %d; then the leader was at %d", time.Since(began), unheard.Name, got, lost)
			}
		}
		cancel()
		writers.Wait()
		if got := c.Leader(); got != leader {
			t.Errorf("%s leads", got.Name)
		}
		waitBarrier(c, mustPropose(t, leader, create("last")).Index)
	})
}
