package cluster_test

import (
	"context"
	"time"

	"floe/cluster/clustertest"
	"floe/cluster/logstore"
)

// step does the next thing of the plan.
func (s *story) step() {
	steps := []func(){s.cut, s.cut, s.isolate, s.mend, s.powerOff, s.powerOff, s.restart, s.restart, s.stop, s.move, s.add, s.remove, s.leave, s.enter, s.enter, s.transfer}
	steps[s.plan.IntN(len(steps))]()
	s.choose()
}

// cut breaks one direction between two nodes.
func (s *story) cut() {
	from, to := s.pick(runs), s.pick(runs)
	if from == to {
		return
	}
	s.note("cut %s to %s", from.Name, to.Name)
	s.c.Network.Cut(from.Name, to.Name)
}

func (s *story) isolate() {
	n := s.pick(runs)
	s.note("isolate %s", n.Name)
	s.c.Network.Isolate(n.Name, s.c.Names()...)
}

func (s *story) mend() {
	s.note("no cuts")
	s.c.Network.HealAll()
}

// mayEnd tells whether one more node may go down, so that somebody is left to ask.
func (s *story) mayEnd() bool { return s.working() > 1 }

func (s *story) powerOff() {
	n := s.pick(runs)
	if !s.mayEnd() {
		return
	}
	s.note("power off at %s", n.Name)
	n.PowerOff(s.disks[n.Name])
	if s.plan.IntN(2) == 0 {
		s.note("%s is back", n.Name)
		s.start(n)
	}
}

func (s *story) stop() {
	n := s.pick(runs)
	if !s.mayEnd() {
		return
	}
	s.note("stop %s", n.Name)
	n.Stop()
}

func (s *story) restart() {
	if n := s.pick(stopped); n != nil {
		s.note("start %s", n.Name)
		s.start(n)
	}
}

// move starts a node that is down at another address.
func (s *story) move() {
	n := s.pick(stopped)
	if n == nil {
		return
	}
	n.Address = s.c.Network.NewAddress()
	n.Config.Join = s.c.Addresses()
	s.note("start %s at %s", n.Name, n.Address)
	s.start(n)
}

func (s *story) add() {
	if len(s.c.Nodes) == mostNodes {
		return
	}
	n := s.prepare()
	s.note("%s joins", n.Name)
	s.start(n)
}

// member tells of a node that took part when it was last seen.
func member(n *clustertest.Node) bool {
	return n.Node != nil && n.Identity().State == logstore.Member
}

// remove takes a member out, whether it runs or not.
func (s *story) remove() {
	victim := s.pick(member)
	ask := s.pick(func(n *clustertest.Node) bool { return runs(n) && n != victim && !idles(n) })
	if victim == nil || ask == nil || len(ask.View().Servers) < 3 {
		return
	}
	force := s.plan.IntN(2) == 0
	_, err := ask.Remove(s.Context(), victim.Name, force)
	s.note("%s removes %s, force %t: %v", ask.Name, victim.Name, force, err)
	s.left[victim.Name] = true
	if err == nil {
		s.out[victim.Name] = true
		s.watch.out(victim.Name, ask.Term())
	}
}

func (s *story) leave() {
	n := s.pick(func(n *clustertest.Node) bool { return runs(n) && member(n) })
	if n == nil || len(n.View().Servers) < 3 {
		return
	}
	s.left[n.Name] = true
	err := n.Leave(s.Context())
	s.note("%s leaves: %v", n.Name, err)
}

// enter has one who is out come back in.
func (s *story) enter() {
	n, through := s.pick(idles), s.pick(func(n *clustertest.Node) bool { return runs(n) && !idles(n) })
	if n == nil || through == nil {
		return
	}
	delete(s.out, n.Name)
	s.watch.in(n.Name)
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	err := n.Join(ctx, through.Address)
	s.note("%s enters through %s: %v", n.Name, through.Name, err)
}

func (s *story) transfer() {
	n := s.pick(runs)
	err := n.Transfer(s.Context(), "")
	s.note("%s asks for another leader: %v", n.Name, err)
}
