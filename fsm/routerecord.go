package fsm

import (
	"slices"

	"floe/routing"
)

// RouteBlock is a routing.Block as commands carry it.
type RouteBlock struct {
	Kind    routing.Kind  `codec:"k"`
	Records []RouteRecord `codec:"r,omitempty"`
}

// RouteRecord is a routing.Record as commands and snapshots carry it: an
// array, so that large tables stay small. Fields may be added at its end.
type RouteRecord struct {
	//lint:ignore U1000 the codec looks for it
	_struct bool         `codec:",toarray"`
	Verb    routing.Verb // what it does
	MType   int32
	SubID   int32
	Senders []string
	ByMEID  bool
	Groups  [][]string
	Owner   string
	MEIDs   []string
}

// RouteBlocks turns what a text asks for into what a command carries.
func RouteBlocks(u routing.Update) []RouteBlock {
	blocks := make([]RouteBlock, len(u.Blocks))
	for i, b := range u.Blocks {
		blocks[i].Kind = b.Kind
		blocks[i].Records = make([]RouteRecord, len(b.Records))
		for j := range b.Records {
			blocks[i].Records[j] = recordOf(&b.Records[j])
		}
	}
	return blocks
}

func recordOf(r *routing.Record) RouteRecord {
	return RouteRecord{
		Verb: r.Verb, MType: r.Key.MType, SubID: r.Key.SubID, Senders: r.Senders,
		ByMEID: r.ByMEID, Groups: r.Groups, Owner: r.Owner, MEIDs: r.MEIDs,
	}
}

// recordOfEntry returns the record that makes an entry.
func recordOfEntry(e *routing.Entry) RouteRecord {
	r := RouteRecord{Verb: routing.Route, MType: e.Key.MType, SubID: e.Key.SubID, Senders: e.Senders, ByMEID: e.ByMEID, Groups: e.Groups}
	if e.Hidden {
		r.Verb = routing.Unroute
	}
	return r
}

func (r *RouteRecord) record() routing.Record {
	return routing.Record{
		Verb: r.Verb, Key: routing.Key{MType: r.MType, SubID: r.SubID}, Senders: r.Senders,
		ByMEID: r.ByMEID, Groups: r.Groups, Owner: r.Owner, MEIDs: r.MEIDs,
	}
}

// Equal tells whether two records say the same.
func (r RouteRecord) Equal(o RouteRecord) bool {
	return r.Verb == o.Verb && r.MType == o.MType && r.SubID == o.SubID && r.ByMEID == o.ByMEID && r.Owner == o.Owner &&
		slices.Equal(r.Senders, o.Senders) && slices.Equal(r.MEIDs, o.MEIDs) && slices.EqualFunc(r.Groups, o.Groups, slices.Equal[[]string])
}

// RouteUpdate is the way back from [RouteBlocks].
func RouteUpdate(blocks []RouteBlock) routing.Update {
	u := routing.Update{Blocks: make([]routing.Block, len(blocks))}
	for i, b := range blocks {
		records := make([]routing.Record, len(b.Records))
		for j := range b.Records {
			records[j] = b.Records[j].record()
		}
		u.Blocks[i] = routing.Block{Kind: b.Kind, Records: records}
	}
	return u
}

// holdsTable tells whether one of the blocks is a whole table.
func holdsTable(blocks []RouteBlock) bool {
	return slices.ContainsFunc(blocks, func(b RouteBlock) bool { return b.Kind == routing.FullTable })
}

// partSize is about how many bytes of records one log entry of a large load
// holds: so many are applied in about 10 ms, for which another command may
// have to wait twice, and disk and network come on top of it. partMEIDs bounds one record.
const (
	partSize  = 128 << 10
	partMEIDs = 1000
)

// RouteParts cuts what a command would carry into parts that each fit a log
// entry of moderate size. The parts, one after the other, do what the blocks
// do; only a single record may be larger.
func RouteParts(blocks []RouteBlock) [][]RouteBlock {
	s := splitter{}
	for _, b := range blocks {
		s.block(b.Kind)
		for _, r := range b.Records {
			s.record(b.Kind, r)
		}
	}
	return append(s.parts, s.part)
}

type splitter struct {
	parts [][]RouteBlock
	part  []RouteBlock
	size  int
}

func (s *splitter) block(k routing.Kind) { s.part = append(s.part, RouteBlock{Kind: k}) }

func (s *splitter) record(k routing.Kind, r RouteRecord) {
	for len(r.MEIDs) > partMEIDs {
		head := r
		head.MEIDs, r.MEIDs = r.MEIDs[:partMEIDs], r.MEIDs[partMEIDs:]
		s.add(k, head)
	}
	s.add(k, r)
}

func (s *splitter) add(k routing.Kind, r RouteRecord) {
	size := r.size()
	if s.size > 0 && s.size+size > partSize {
		s.parts, s.part, s.size = append(s.parts, s.part), nil, 0
		s.block(continued(k))
	}
	last := &s.part[len(s.part)-1]
	last.Records = append(last.Records, r)
	s.size += size
}

// continued is the kind of block that goes on where one of kind k was cut.
func continued(k routing.Kind) routing.Kind {
	if k == routing.FullTable {
		return routing.TableDelta
	}
	return k
}

// size is about how many bytes the record takes.
func (r *RouteRecord) size() int {
	n := 20 + len(r.Owner) + listSize(r.Senders) + listSize(r.MEIDs)
	for _, g := range r.Groups {
		n += listSize(g)
	}
	return n
}

func listSize(list []string) int {
	n := 3 + 2*len(list)
	for _, s := range list {
		n += len(s)
	}
	return n
}

// sizeOf is about how many bytes the records of blocks take, mostly a few less.
func sizeOf(blocks []RouteBlock) int {
	n := 0
	for _, b := range blocks {
		for i := range b.Records {
			n += b.Records[i].size()
		}
	}
	return n
}

// MEIDsNamed returns how many MEIDs blocks name.
func MEIDsNamed(blocks []RouteBlock) int {
	n := 0
	for _, b := range blocks {
		for i := range b.Records {
			n += len(b.Records[i].MEIDs)
		}
	}
	return n
}

// Text returns an entry's record as the text form has it.
func (r *RouteRecord) Text() string {
	e := routing.Entry{Key: routing.Key{MType: r.MType, SubID: r.SubID}, Senders: r.Senders, ByMEID: r.ByMEID, Groups: r.Groups, Hidden: r.Verb == routing.Unroute}
	return e.String()
}
