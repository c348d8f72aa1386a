package server

import "floe/transport/ice/proto"

// keptMax is how many servants a connection keeps. One beyond throws all of
// them away, which only a client of very many objects sees.
const keptMax = 64

// kept are the lasting servants a connection met.
type kept struct {
	last   Lasting
	lastID proto.Identity
	all    map[proto.Identity]Lasting
}

// find returns the servant of an identity if it is kept and alive.
func (k *kept) find(id proto.Identity) Servant {
	if k.last != nil && k.lastID == id && k.last.Alive() {
		return k.last
	}
	s := k.all[id]
	if s == nil || !s.Alive() {
		return nil
	}
	k.last, k.lastID = s, id
	return s
}

func (k *kept) add(id proto.Identity, s Lasting) {
	if k.all == nil || len(k.all) >= keptMax {
		k.all = make(map[proto.Identity]Lasting)
	}
	k.all[id] = s
	k.last, k.lastID = s, id
}
