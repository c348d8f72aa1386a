//go:build planted

package fsm

import (
	"time"

	"floe/routing"
	"floe/scripts/planted"
)

// Bugs for scripts/jepsen planted.
var (
	halfTable = planted.Has("half-table") // half of a route table is seen before the other half
)

// publishHalf lets everybody see half of a whole table for a moment.
func (s *State) publishHalf(d *draft, op Op) {
	o, ok := op.(ChangeRoutes)
	if !ok || len(o.Blocks) != 1 || o.Blocks[0].Kind != routing.FullTable {
		return
	}
	half := o.Blocks[0]
	half.Records = half.Records[:len(half.Records)/2]
	v, _, err := (&draft{View: d.View, at: d.Index + 1}).try(ChangeRoutes{Blocks: []RouteBlock{half}, If: o.If})
	if err == nil {
		s.publish(&v)
		time.Sleep(20 * time.Millisecond)
	}
}
