package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of fault.
type Kind string

// The kinds of fault. All are over when their step ends.
const (
	Kill      Kind = "kill"      // SIGKILL, then started again
	Pause     Kind = "pause"     // SIGSTOP, then SIGCONT
	Partition Kind = "partition" // no packet between the victims and the others
	Oneway    Kind = "oneway"    // packets go one way only
	Bridge    Kind = "bridge"    // two halves reach the victim and not each other
	Delay     Kind = "delay"     // packets to the victims are late, by unequal times
	Loss      Kind = "loss"      // packets to the victims are lost, doubled or overtaken
	Corrupt   Kind = "corrupt"   // packets to the victims have wrong bytes and right checksums
	Power     Kind = "power"     // the power fails: what was not synced is gone
	DiskFull  Kind = "diskfull"  // a file takes the room that is left
	DiskHang  Kind = "diskhang"  // no write to the disk returns
	DiskError Kind = "diskerror" // a sync fails, or every write and sync
	DiskSlow  Kind = "diskslow"  // each sync takes long
	Damage    Kind = "damage"    // a bit of a file is changed while the node is down
	Move      Kind = "move"      // killed, and started at another peer address
	Clock     Kind = "clock"     // the wall clock jumps
	Churn     Kind = "churn"     // a member leaves, is removed or is replaced, and comes back
)

// Kinds are all kinds, in the order they are listed for users.
var Kinds = []Kind{Kill, Pause, Partition, Oneway, Bridge, Delay, Loss, Corrupt, Power, DiskFull, DiskHang, Clock, Churn, DiskError, DiskSlow, Damage, Move}

// anywhere are the kinds that need no root.
var anywhere = []Kind{Kill, Pause, Churn, Damage, Move}

// NeedsRoot says whether a fault of this kind needs a node with a network, a
// disk and a clock of its own.
func (k Kind) NeedsRoot() bool { return !slices.Contains(anywhere, k) }

// NeedsDisk says whether a fault of this kind needs a node with a file system of
// its own.
func (k Kind) NeedsDisk() bool { return slices.Contains([]Kind{Power, DiskFull, DiskHang}, k) }

// Possible returns those of the kinds that can be carried out without root.
func Possible(kinds []Kind) []Kind { return slices.DeleteFunc(slices.Clone(kinds), Kind.NeedsRoot) }

// List writes kinds as ParseKinds reads them.
func List(kinds []Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ",")
}

// ParseKinds reads a comma-separated list of kinds, or "all".
func ParseKinds(text string) ([]Kind, error) {
	if text == "all" {
		return Kinds, nil
	}
	var kinds []Kind
	for word := range strings.SplitSeq(text, ",") {
		k := Kind(word)
		if !slices.Contains(Kinds, k) {
			return nil, fmt.Errorf("no nemesis %q: there are %s and all", word, List(Kinds))
		}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}
