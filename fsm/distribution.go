package fsm

import "slices"

// MaxWithdrawn is how many endpoints may be withdrawn at a time.
const MaxWithdrawn = 100_000

// Distribution is what decides, beside the routes, what apps are sent. The
// zero value sends the routes as they stand.
type Distribution struct {
	// Version is the index of its last change, 0 where there was none.
	Version uint64 `codec:"v"`
	// Relay says which messages go through floe.
	Relay Relay `codec:"r"`
	// Out are the ids of nodes that were found dead, sorted: nothing is sent there.
	Out []string `codec:"o,omitempty"`
	// Dead are the endpoints that were found dead, sorted.
	Dead []string `codec:"d,omitempty"`
}

// IsOut tells whether a node was found dead.
func (d *Distribution) IsOut(node string) bool { return holds(d.Out, node) }

// IsDead tells whether an endpoint was found dead.
func (d *Distribution) IsDead(endpoint string) bool { return holds(d.Dead, endpoint) }

func holds(sorted []string, s string) bool {
	_, found := slices.BinarySearch(sorted, s)
	return found
}

// Relay says the messages of which types go through floe, while all others
// go from app to app. The zero value is none.
type Relay struct {
	// All is what holds for types that are no exception.
	All bool `codec:"a,omitempty"`
	// Except are the types for which the opposite holds, sorted.
	Except []int32 `codec:"x,omitempty"`
}

// On tells whether messages of a type go through floe.
func (r Relay) On(mtype int32) bool {
	_, except := slices.BinarySearch(r.Except, mtype)
	return r.All != except
}

// Equal tells whether two relays say the same.
func (r Relay) Equal(o Relay) bool { return r.All == o.All && slices.Equal(r.Except, o.Except) }

// with returns the relay after one type, or with nil all, was switched.
func (r Relay) with(on bool, mtype *int32) Relay {
	switch {
	case mtype == nil:
		return Relay{All: on}
	case on == r.All:
		return Relay{All: r.All, Except: without(r.Except, []int32{*mtype})}
	default:
		return Relay{All: r.All, Except: union(r.Except, []int32{*mtype})}
	}
}

// TableVersion is the version of what apps are sent and acknowledge: the
// index of the last change of the routes or of how they are distributed.
func (v *View) TableVersion() uint64 { return max(v.Routes.Version, v.Distribution.Version) }

// SetRelay has messages of one type, or of all, go through floe or not.
type SetRelay struct {
	On    bool   `codec:"on,omitempty"`
	MType *int32 `codec:"m,omitempty"`
}

// SetProbed withdraws endpoints found dead, and takes back those that answer
// again.
type SetProbed struct {
	Dead  []string `codec:"d,omitempty"`
	Alive []string `codec:"a,omitempty"`
}

// Kind returns the number the op travels under.
func (SetRelay) Kind() Kind { return KindSetRelay }

// Kind returns the number the op travels under.
func (SetProbed) Kind() Kind { return KindSetProbed }

func (o SetRelay) apply(d *draft) (Result, error) {
	if next := d.Distribution.Relay.with(o.On, o.MType); !next.Equal(d.Distribution.Relay) {
		d.Distribution.Relay, d.Distribution.Version = next, d.at
	}
	return Result{Version: d.TableVersion()}, nil
}

func (o SetProbed) apply(d *draft) (Result, error) {
	dead := without(union(d.Distribution.Dead, o.Dead), o.Alive)
	if len(dead) > MaxWithdrawn {
		return Result{}, &Refusal{Kind: ErrRoutes, Detail: "too many endpoints are withdrawn"}
	}
	if !slices.Equal(dead, d.Distribution.Dead) {
		d.Distribution.Dead, d.Distribution.Version = dead, d.at
	}
	return Result{Version: d.TableVersion()}, nil
}
