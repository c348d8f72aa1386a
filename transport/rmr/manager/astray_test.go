package manager

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"floe/cluster/clustertest"
	"floe/scripts/rmrapp"
)

// astray gives an app the end of what a process sent that was killed: its system
// goes on until all is there, and nobody is left to hear the answer.
func astray(t *testing.T, a *rmrapp.App, from string) {
	t.Helper()
	m := &Manager{cfg: Config{}.filled(), conns: map[*conn]struct{}{}}
	c := newConn(m, dial(t, a.ControlAddress()))
	s := newSession(m, a.ID())
	s.conn = c
	id := "1.1." + from
	text := []byte("newrt|start|" + id + "\nmse|100|-1|late:1\nnewrt|end|1\nmeid_map|start\nmme_del|m1\nmeid_map|end|1\n")
	if err := s.send(&content{id: id, texts: [][]byte{text}}, true); err != nil {
		t.Fatal(err)
	}
	wait(t, a, "had the late table", func(a *rmrapp.App) bool {
		for _, e := range a.History() {
			if e.ID == id {
				return true
			}
		}
		return false
	})
	c.abort()
}

// takenOver returns three nodes and an app whose node was killed; another one serves it.
func takenOver(t *testing.T, late time.Duration) (*three, *rmrapp.App, *clustertest.Node) {
	c := newThree(t, short)
	for _, m := range c.managers {
		m.cfg.Late = late
	}
	c.load("mse|100|-1|a:1", "mme_ar|o:1|m1 m2")
	old := c.Follower()
	a := start(t, c.managers[old.Name].address)
	routed(t, a, 100, "a:1")
	c.servedBy(old, a.ID())
	c.kill(old.Name)
	c.load("updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	c.servedBy(c.running(), a.ID())
	return c, a, old
}

// whole waits until an app has all of the table and of the map again.
func whole(t *testing.T, a *rmrapp.App) {
	t.Helper()
	routed(t, a, 100, "a:2")
	wait(t, a, "has both MEIDs", func(a *rmrapp.App) bool { return len(a.MEIDs()) == 2 })
}

// What the system of a killed node delivers late, which nobody hears of, is made
// good by who serves now, without anything being changed.
func TestTableOfADeadServerComesLate(t *testing.T) {
	t.Parallel()
	_, a, old := takenOver(t, 5*time.Second)
	astray(t, a, old.Name)
	whole(t, a)
}

// It is made good too when it came so late that the node is back.
func TestServerIsBack(t *testing.T) {
	t.Parallel()
	c, a, old := takenOver(t, time.Hour)
	astray(t, a, old.Name)
	old.Start()
	c.serve(old)
	whole(t, a)
}

// A node that may not push any more takes back what the app's system has not taken.
func TestLeaseEndsWhileATableIsOnItsWay(t *testing.T) {
	t.Parallel()
	c := newThree(t, short)
	c.load("mse|100|-1|a:1")
	for part := range 4 { // more than systems hold for who does not read
		lines := []string{"updatert|start"}
		for i := range 1500 {
			lines = append(lines, fmt.Sprintf("mse|%d|-1|%s:4560", 1000+1500*part+i, strings.Repeat("n", 500)))
		}
		c.load(lines...)
	}
	old := c.Follower()
	a := start(t, c.managers[old.Name].address)
	routed(t, a, 100, "a:1")
	c.servedBy(old, a.ID())
	had := len(a.History())
	a.StopReading(true)
	sent := c.managers[old.Name].Stats().Pushes
	a.DropConnections() // all is sent again
	c.Wait("a table is on its way", func() error {
		if c.managers[old.Name].Stats().Pushes == sent {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	c.Network.Isolate(old.Name, c.Names()...)
	c.Wait("taken over", func() error {
		if app, _ := c.Leader().View().App(a.ID()); app.Node == old.Name || app.Before != old.Name {
			return fmt.Errorf("%+v", app)
		}
		return nil
	})
	c.load("mse|100|-1|a:2")
	a.StopReading(false)
	routed(t, a, 100, "a:2")
	for _, e := range a.History()[had:] {
		if nodeOf(e.ID) == old.Name {
			t.Errorf("a table that was taken back arrived: %v", e)
		}
	}
	noFaults(t, a)
}
