package fsm

import (
	"fmt"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"floe/routing"
	"floe/routing/derive"
)

// routesHeader says how many records follow, and what has no record.
type routesHeader struct {
	Version uint64 `codec:"v"`
	// LoadedAt is nil where it is Version, as it always was in the second format.
	LoadedAt *uint64 `codec:"la,omitempty"`
	Loads    int     `codec:"nl,omitempty"`
}

// tablesHeader opens a table, a map and tombstones: entries ordered by key,
// owners sorted, MEIDs and tombstones in the order of their maps, which
// follows from what they hold.
type tablesHeader struct {
	Entries int `codec:"e,omitempty"`
	Owners  int `codec:"o,omitempty"`
	MEIDs   int `codec:"m,omitempty"`
	Gone    int `codec:"g,omitempty"`
}

// pastLoad is a load under way, as a snapshot holds it.
type pastLoad struct {
	ID    uint64         `codec:"id"`
	Last  uint64         `codec:"x"`
	Parts [][]RouteBlock `codec:"p"`
}

// numbered is an MEID with the number of its owner, or with the index of its
// deletion.
type numbered struct {
	//lint:ignore U1000 the codec looks for it
	_struct bool `codec:",toarray"`
	MEID    string
	Number  uint64
}

// headerOf returns nil for routes that need no place in a snapshot.
func headerOf(r Routes) *routesHeader {
	if r.empty() {
		return nil
	}
	h := &routesHeader{Version: r.Version, Loads: len(r.loads)}
	if r.LoadedAt != r.Version {
		h.LoadedAt = &r.LoadedAt
	}
	return h
}

func encodeRoutes(enc *codec.Encoder, r Routes) error {
	if err := encodeTables(enc, r.Loaded, r.Gone); err != nil {
		return err
	}
	for _, l := range r.loads {
		if err := enc.Encode(&pastLoad{ID: l.id, Last: l.last, Parts: l.parts}); err != nil {
			return err
		}
	}
	return nil
}

func encodeTables(enc *codec.Encoder, s routing.State, gone *routing.Tombstones) error {
	owners, _ := s.MEIDs.Owners()
	head := tablesHeader{Entries: s.Table.Len(), Owners: len(owners), MEIDs: s.MEIDs.Len(), Gone: gone.Len()}
	if err := enc.Encode(&head); err != nil {
		return err
	}
	for e := range s.Table.All() {
		r := recordOfEntry(e)
		if err := enc.Encode(&r); err != nil {
			return err
		}
	}
	return encodeMEIDs(enc, s.MEIDs, owners, gone)
}

func encodeMEIDs(enc *codec.Encoder, m *routing.MEIDMap, owners []string, gone *routing.Tombstones) error {
	number := make(map[string]uint64, len(owners))
	for i, o := range owners {
		number[o] = uint64(i)
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	var n numbered
	for meid, owner := range m.All() {
		n.MEID, n.Number = meid, number[owner]
		if err := enc.Encode(&n); err != nil {
			return err
		}
	}
	for meid, index := range gone.All() {
		n.MEID, n.Number = meid, index
		if err := enc.Encode(&n); err != nil {
			return err
		}
	}
	return nil
}

// decodeRoutes reads routes, which go with the facts.
func decodeRoutes(dec *codec.Decoder, head *routesHeader, facts *derive.Facts) (Routes, error) {
	if head == nil {
		return Routes{Facts: facts}.united(), nil
	}
	r := Routes{Version: head.Version, LoadedAt: head.Version, Facts: facts}
	if head.LoadedAt != nil {
		r.LoadedAt = *head.LoadedAt
	}
	var err error
	if r.Loaded, r.Gone, err = decodeTables(dec); err != nil {
		return Routes{}, err
	}
	r = r.united()
	for range head.Loads {
		var p pastLoad
		if err := dec.Decode(&p); err != nil {
			return Routes{}, fmt.Errorf("load: %v", err)
		}
		r.loads = append(r.loads, p.again(r))
	}
	return r, nil
}

// again makes the load from its parts.
func (p pastLoad) again(r Routes) load {
	l := r.begin(p.ID, 0)
	for _, part := range p.Parts {
		l = l.with(part, r.derived(), p.Last)
	}
	return l
}

func decodeTables(dec *codec.Decoder) (routing.State, *routing.Tombstones, error) {
	var head tablesHeader
	if err := dec.Decode(&head); err != nil {
		return routing.State{}, nil, err
	}
	edit := routing.State{}.Edit()
	for range head.Entries {
		var r RouteRecord
		if err := dec.Decode(&r); err != nil {
			return routing.State{}, nil, fmt.Errorf("entry: %v", err)
		}
		record := r.record()
		if err := edit.Add(&record); err != nil {
			return routing.State{}, nil, fmt.Errorf("entry: %v", err)
		}
	}
	if err := decodeMEIDs(dec, head, edit); err != nil {
		return routing.State{}, nil, err
	}
	gone, err := decodeGone(dec, head.Gone)
	state, _ := edit.Commit()
	return state, gone, err
}

func decodeMEIDs(dec *codec.Decoder, head tablesHeader, edit *routing.Edit) error {
	var owners []string
	for range head.Owners {
		var o string
		if err := dec.Decode(&o); err != nil {
			return fmt.Errorf("owner: %v", err)
		}
		owners = append(owners, o)
	}
	for range head.MEIDs {
		var n numbered
		if err := dec.Decode(&n); err != nil {
			return fmt.Errorf("MEID: %v", err)
		}
		if n.Number >= uint64(len(owners)) {
			return fmt.Errorf("MEID %q has owner %d of %d", n.MEID, n.Number, len(owners))
		}
		r := routing.Record{Verb: routing.Assign, Owner: owners[n.Number], MEIDs: []string{n.MEID}}
		if err := edit.Add(&r); err != nil {
			return err
		}
	}
	return nil
}

func decodeGone(dec *codec.Decoder, count int) (*routing.Tombstones, error) {
	var bad error
	if count == 0 {
		return nil, nil
	}
	gone := (*routing.Tombstones)(nil).Restore(func(yield func(string, uint64) bool) {
		for range count {
			var n numbered
			if bad = dec.Decode(&n); bad != nil || !yield(n.MEID, n.Number) {
				return
			}
		}
	})
	return gone, bad
}
