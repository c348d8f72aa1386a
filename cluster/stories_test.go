package cluster_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"floe/cluster/clustertest"
)

var (
	storyCount = flag.Int("stories", 16, "how many seeded stories TestStories runs")
	storySeed  = flag.Uint64("seed", 1, "the seed of TestStories' first story; the others count up")
)

// TestStories runs clusters in virtual time through seeded sequences of cuts,
// power cuts, restarts and changes of membership, while changes are made, and
// checks at the end of each, and all along where it can, that
//
//   - no term has two leaders,
//   - what was acknowledged is there and what was refused is not,
//   - states at one index are the same, on all nodes and over restarts,
//   - nobody who was removed is elected, or stands for election once it knows,
//   - once all is well again, all nodes work and the leader stays.
//
// A seed fixes the plan and the delays of the disks; the order in which
// goroutines take turns is Go's. A story that failed is run again by
//
//	go test ./cluster -run 'TestStories$' -stories 1 -seed N -count 20
func TestStories(t *testing.T) {
	t.Setenv("TMPDIR", memoryDir(t))
	for i := range *storyCount {
		seed := *storySeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { tell(t, seed) })
		})
	}
}

// memoryDir returns a directory whose files are in memory where the system has
// one, as what is small beside the log is in real files, synced at each write.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "floe-stories")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// tell runs one story.
func tell(t *testing.T, seed uint64) {
	s := &story{
		T: t, plan: rand.New(rand.NewPCG(seed, 1)), begun: time.Now(),
		disks: map[string]*clustertest.Disk{}, out: map[string]bool{}, left: map[string]bool{},
		watch: newWatch(t, seed),
	}
	s.found()
	stop := s.write(seed)
	for range 5 + s.plan.IntN(6) {
		s.step()
		// Mostly into an election, at times past all of it.
		time.Sleep(time.Duration(min(s.plan.ExpFloat64(), 5) * float64(500*time.Millisecond)))
	}
	s.heal()
	stop()
	s.end()
}
