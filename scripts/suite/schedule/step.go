package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Leader stands for whoever leads when a step begins.
const Leader = 0

// Step is one fault with its begin and length.
type Step struct {
	Number   int           `json:"number"`
	At       time.Duration `json:"at_ns"`
	Length   time.Duration `json:"length_ns"`
	Kind     Kind          `json:"kind"`
	Victims  []int         `json:"victims"`             // node numbers from 1; Leader where that is who leads
	Apart    bool          `json:"apart,omitempty"`     // partition: the victims are cut from one another as well
	Incoming bool          `json:"incoming,omitempty"`  // oneway: the victims hear nothing; otherwise nobody hears them
	Delay    time.Duration `json:"delay_ns,omitempty"`  // delay: how late a packet is, give or take a half; diskslow: how long a sync takes
	Percent  int           `json:"percent,omitempty"`   // loss, corrupt: how many packets of a hundred are hit
	Room     int           `json:"room_mib,omitempty"`  // diskfull: how many MiB stay free
	Offset   time.Duration `json:"offset_ns,omitempty"` // clock: how far it jumps
	Exit     Exit          `json:"exit,omitempty"`      // churn: how the member goes
	Lasting  bool          `json:"lasting,omitempty"`   // diskerror: every write and sync fails, not one sync
	File     string        `json:"file,omitempty"`      // damage: log, snapshot, meta or identity
	Place    int           `json:"place,omitempty"`     // damage: where in it, in thousandths
}

// Exit is a way in which a member goes before it comes back.
type Exit string

// The ways to go.
const (
	Leave   Exit = "leave"   // floe leave; its process ends, its data stays
	Remove  Exit = "remove"  // floe remove while it runs
	Replace Exit = "replace" // it dies, is removed by force and comes back with an empty directory
)

// End is when the fault ends.
func (s Step) End() time.Duration { return s.At + s.Length }

// String is the step's line in a printed schedule.
func (s Step) String() string {
	return fmt.Sprintf("%2d  %6.1fs to %6.1fs  %s", s.Number, s.At.Seconds(), s.End().Seconds(), s.What())
}

// What says in words what happens to whom.
func (s Step) What() string {
	names := make([]string, len(s.Victims))
	for i, v := range s.Victims {
		names[i] = fmt.Sprintf("n%d", v)
		if v == Leader {
			names[i] = "the leader"
		}
	}
	return fmt.Sprintf("%s %s%s", s.Kind, strings.Join(names, ", "), s.detail())
}

// detail is what a kind alone does not say.
func (s Step) detail() string {
	switch s.Kind {
	case Partition:
		if s.Apart {
			return " from everybody"
		}
	case Oneway:
		if s.Incoming {
			return ": hears nobody"
		}
		return ": nobody hears it"
	case Bridge:
		return ": the only way between two halves"
	case Delay:
		return fmt.Sprintf(": hears others %s late", s.Delay)
	case Loss, Corrupt:
		return fmt.Sprintf(": %d %% of what it hears", s.Percent)
	case DiskFull:
		return fmt.Sprintf(": %d MiB left", s.Room)
	case Clock:
		return fmt.Sprintf(": %+.0f s", s.Offset.Seconds())
	case Churn:
		return ": " + string(s.Exit)
	case DiskError:
		if s.Lasting {
			return ": every write and sync"
		}
		return ": one sync"
	case DiskSlow:
		return fmt.Sprintf(": a sync takes %s longer", s.Delay)
	case Damage:
		return fmt.Sprintf(": a bit of its %s, at %.1f %%", s.File, float64(s.Place)/10)
	}
	return ""
}
