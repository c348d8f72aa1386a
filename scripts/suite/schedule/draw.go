package schedule

import "time"

// step draws a fault of one of the kinds. The draws of a kind are part of what
// a seed means: a further draw belongs at the end.
func (d dice) step(nodes int, kinds []Kind) Step {
	s := Step{Kind: kinds[d.IntN(len(kinds))]}
	switch s.Kind {
	case Kill:
		s.Victims, s.Length = d.victims(nodes, 60, 25), d.between(200*time.Millisecond, 5*time.Second)
	case Pause:
		s.Victims, s.Length = d.victims(nodes, 75, 20), d.between(time.Second, 6*time.Second)
	case Partition:
		s.Victims, s.Length = d.victims(nodes, 80, 0), d.between(2*time.Second, 8*time.Second)
		s.Apart = len(s.Victims) == nodes
	case Oneway:
		s.Victims, s.Length = d.victims(nodes, 100, 0), d.between(2*time.Second, 8*time.Second)
		s.Incoming = d.chance(50)
	case Bridge:
		s.Victims, s.Length = d.one(nodes), d.between(3*time.Second, 8*time.Second)
	case Delay:
		s.Victims, s.Length = d.victims(nodes, 60, 0), d.between(3*time.Second, 8*time.Second)
		s.Delay = d.between(100*time.Millisecond, 600*time.Millisecond)
	case Loss:
		s.Victims, s.Length = d.victims(nodes, 50, 0), d.between(3*time.Second, 8*time.Second)
		s.Percent = 5 + d.IntN(36)
	case Corrupt:
		s.Victims, s.Length = d.victims(nodes, 50, 0), d.between(3*time.Second, 8*time.Second)
		s.Percent = 1 + d.IntN(10)
	case Power:
		s.Victims, s.Length = d.victims(nodes, 50, 20), d.between(200*time.Millisecond, 5*time.Second)
	case DiskFull:
		s.Victims, s.Length = d.victims(nodes, 80, 10), d.between(2*time.Second, 6*time.Second)
		if d.chance(50) {
			s.Room = 6 // less than a node keeps in reserve, more than a few changes need
		}
	case DiskHang:
		s.Victims, s.Length = d.victims(nodes, 100, 0), d.between(time.Second, 9*time.Second)
	case Clock:
		s.Victims, s.Length = d.victims(nodes, 50, 25), d.between(2*time.Second, 6*time.Second)
		s.Offset = d.jump()
	case Churn:
		s.Victims, s.Length = d.one(nodes), d.between(2*time.Second, 5*time.Second)
		s.Exit = []Exit{Leave, Remove, Replace}[d.IntN(3)]
	case DiskError:
		s.Victims, s.Length = d.victims(nodes, 80, 10), d.between(2*time.Second, 6*time.Second)
		s.Lasting = d.chance(50)
	case DiskSlow:
		s.Victims, s.Length = d.victims(nodes, 70, 15), d.between(3*time.Second, 8*time.Second)
		s.Delay = d.between(100*time.Millisecond, 800*time.Millisecond)
	case Damage:
		s.Victims, s.Length = d.one(nodes), d.between(2*time.Second, 4*time.Second)
		s.File, s.Place = []string{"log", "log", "log", "snapshot", "meta", "identity"}[d.IntN(6)], d.IntN(1000)
	case Move:
		s.Victims, s.Length = d.victims(nodes, 70, 15), d.between(200*time.Millisecond, 3*time.Second)
	}
	return s
}

// one draws a single victim, half of the time the leader.
func (d dice) one(nodes int) []int {
	if v := 1 + d.IntN(nodes); d.chance(50) {
		return []int{v}
	}
	return []int{Leader}
}

// jump draws how far a clock jumps: seconds, hours or years, in whole seconds
// and either way.
func (d dice) jump() time.Duration {
	scale := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour}[d.IntN(5)]
	offset := time.Duration(1+d.IntN(20)) * scale
	if d.chance(50) {
		return -offset
	}
	return offset
}
