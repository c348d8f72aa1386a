package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
	"floe/transport/http/client"
)

// usualRounds is how often a node is killed unless FLOE_ROUNDS says otherwise. For all of the failure runs:
//
//	FLOE_ROUNDS=100 go test ./scripts/e2e -run KilledAtRandom -count 1 -timeout 20m -v
const usualRounds = 8

// FLOE_SEED repeats a run, as far as the machine does.
func numberFrom(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// changer is an operator who changes routes without a pause, through any node.
type changer struct {
	at   *client.Client
	rand *rand.Rand
	n    int       // changes so far
	last time.Time // when the last one was acknowledged
}

// change makes one change, until it is acknowledged: most are deltas, and each is told by its number.
func (c *changer) change(ctx context.Context) error {
	c.n++
	var b strings.Builder
	number := fmt.Sprintf("mse|9999|-1|change-%d:1\n", c.n)
	if c.rand.IntN(5) == 0 {
		fmt.Fprintf(&b, "newrt|start\n%s", number)
		for range 20 {
			fmt.Fprintf(&b, "mse|%d|-1|%s,%s\n", 1000+c.rand.IntN(100), c.host(), c.host())
		}
		b.WriteString("newrt|end\n")
	} else {
		fmt.Fprintf(&b, "updatert|start\n%smse|%d|%d|%s\ndel|%d|-1\nupdatert|end\n", number, 1000+c.rand.IntN(100), c.rand.IntN(3)-1, c.host(), 1000+c.rand.IntN(100))
	}
	fmt.Fprintf(&b, "meid_map|start\nmme_ar|%s|gnb_%d gnb_%d\nmme_del|gnb_%d\nmeid_map|end\n", c.host(), c.rand.IntN(50), c.rand.IntN(50), c.rand.IntN(50))
	for {
		_, err := c.at.LoadRoutes(ctx, b.String(), nil)
		if err == nil {
			c.last = time.Now()
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

func (c *changer) host() string { return fmt.Sprintf("host-%d:4560", c.rand.IntN(40)) }

// until changes routes until stop is closed, and once more after that.
func (c *changer) until(ctx context.Context, stop <-chan struct{}) error {
	for {
		if err := c.change(ctx); err != nil {
			return err
		}
		select {
		case <-stop:
			return c.change(ctx)
		default:
		}
	}
}

// storm is a cluster that serves many applications.
type storm struct {
	c    *floetest.Cluster
	apps rmrapp.Fleet
	op   *changer
	rand *rand.Rand
	// How long after a round's last change, and after its kill, all applications had it.
	sinceChange, sinceKill []time.Duration
}

// victim is the node that serves most applications, or any.
func (s *storm) victim() *floetest.Node {
	if s.rand.IntN(3) == 0 {
		return s.c.Nodes[s.rand.IntN(len(s.c.Nodes))]
	}
	by := map[string]int{}
	nodes, _ := servedBy(s.c.Nodes[0])
	for _, n := range nodes {
		by[n]++
	}
	return slices.MaxFunc(s.c.Nodes, func(a, b *floetest.Node) int { return cmp.Compare(by[a.ID], by[b.ID]) })
}

// round kills a node while routes change and some applications come anew, and waits until all have the last change.
func (s *storm) round(t *testing.T) {
	t.Helper()
	victim := s.victim()
	stop, done := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 2*floetest.Patience)
	var changes sync.WaitGroup
	changes.Go(func() { done <- s.op.until(ctx, stop) })
	defer func() { cancel(); changes.Wait() }()
	s.pause(400 * time.Millisecond)
	victim.Kill()
	killed := time.Now()
	for range 3 {
		i := slices.Index(s.c.Nodes, victim) + 1 + 3*s.rand.IntN(len(s.apps)/3) // one that asks another node
		if err := s.apps[i].Restart(); err != nil {
			t.Fatal(err)
		}
	}
	s.pause(800 * time.Millisecond)
	close(stop)
	if err := <-done; err != nil {
		t.Fatalf("after %s was killed: %v", victim.ID, err)
	}
	text := shown(s.c.Running()[0])
	if mark := fmt.Sprintf("change-%d:1", s.op.n); !strings.Contains(text, mark) {
		t.Fatalf("the change %s was acknowledged and is not in\n%s", mark, text)
	}
	waitTables(t, s.apps, text)
	s.sinceChange = append(s.sinceChange, time.Since(s.op.last))
	s.sinceKill = append(s.sinceKill, time.Since(killed))
	checkTold(t, s.apps)
	if t.Failed() {
		t.Fatalf("after %s was killed", victim.ID)
	}
	victim.Start("--join", s.c.PeersWithout(victim))
	victim.WaitReady()
}

// pause lets a random time go by: it is no wait for anything.
func (s *storm) pause(limit time.Duration) { time.Sleep(time.Duration(s.rand.Int64N(int64(limit)))) }

// Whichever node is killed, and at whatever moment, while routes change: all applications have the last acknowledged
// routes soon after, and none was sent half a table, two at a time or an older one.
func TestNodesKilledAtRandomWhileRoutesChange(t *testing.T) {
	t.Parallel()
	seed := numberFrom("FLOE_SEED", int(time.Now().UnixNano()))
	t.Logf("FLOE_SEED=%d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	c := startThree(t)
	s := &storm{c: c, rand: r, op: &changer{at: operator(t, c.Nodes...), rand: rand.New(rand.NewPCG(uint64(seed), 2))}}
	if err := s.op.change(patient(t)); err != nil {
		t.Fatal(err)
	}
	s.apps = startApps(t, 50, func(i int) rmrapp.Config { return asking(c.Nodes[i%3], rmrapp.Config{}) })
	waitTables(t, s.apps, shown(c.Nodes[0]))
	for range numberFrom("FLOE_ROUNDS", usualRounds) {
		s.round(t)
	}
	c.WaitSame()
	t.Logf("%d rounds, %d changes; all 50 had the last change after it was acknowledged: %s; after the kill: %s",
		len(s.sinceKill), s.op.n, spread(s.sinceChange), spread(s.sinceKill))
	var quiet []time.Duration
	for range 20 {
		if err := s.op.change(patient(t)); err != nil {
			t.Fatal(err)
		}
		waitTables(t, s.apps, shown(c.Nodes[0]))
		quiet = append(quiet, time.Since(s.op.last))
	}
	t.Logf("a change with all nodes there: %s", spread(quiet))
}

// spread is median and maximum.
func spread(times []time.Duration) string {
	if len(times) == 0 {
		return "never"
	}
	sorted := slices.Sorted(slices.Values(times))
	return fmt.Sprintf("median %v, max %v", sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond))
}
