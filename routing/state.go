package routing

import "fmt"

// State is routes and MEIDs at one version. The zero value is empty. A State
// never changes and may be shared freely.
type State struct {
	Table *Table
	MEIDs *MEIDMap
}

// Changes names what a change made different: every key with other entries
// than before, sorted, and every MEID with another owner, a new one or none
// any more, in the order of the changes and perhaps more than once.
type Changes struct {
	Routes []Key
	MEIDs  []string
}

// Empty says whether nothing changed.
func (c Changes) Empty() bool { return len(c.Routes) == 0 && len(c.MEIDs) == 0 }

// Digest returns the digest of routes and map.
func (s State) Digest() Digest { return s.Table.Digest().Add(s.MEIDs.Digest()) }

// Apply returns the state after an update and what became different, or an
// error and no state at all.
func (s State) Apply(u Update) (State, Changes, error) {
	e := s.Edit()
	if err := e.Do(u); err != nil {
		return State{}, Changes{}, err
	}
	next, changes := e.Commit()
	return next, changes, nil
}

// Do carries out all blocks of an update.
func (e *Edit) Do(u Update) error {
	for i := range u.Blocks {
		if err := e.block(&u.Blocks[i]); err != nil {
			return fmt.Errorf("block %d: %w", i+1, err)
		}
	}
	e.table.settle()
	return nil
}

func (e *Edit) block(b *Block) error {
	if err := e.Begin(b.Kind); err != nil {
		return err
	}
	for i := range b.Records {
		if err := e.Add(&b.Records[i]); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return nil
}

// Edit is a state being made from another, record by record, for changes
// too large to be made in one go. Readers see nothing of it before Commit.
// Only one goroutine may use it; after an error it must be dropped.
type Edit struct {
	table *tableEdit
	meids *mapEdit
}

// Edit begins a change of s. It costs little until something is added.
func (s State) Edit() *Edit { return &Edit{table: s.Table.edit(), meids: s.MEIDs.edit()} }

// Expect makes room for an edit that names that many MEIDs in all. It is a
// hint, and cheaper given early.
func (e *Edit) Expect(meids int) { e.meids.expect(meids) }

// Begin begins a block: a FullTable drops all routes.
func (e *Edit) Begin(k Kind) error {
	switch k {
	case FullTable:
		e.table.clear()
	case TableDelta, MapUpdate:
	default:
		return fmt.Errorf("%v begins no block", k)
	}
	return nil
}

// Add carries out a record. It copies what it keeps of routes; MEIDs are
// held until Commit returns them.
func (e *Edit) Add(r *Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Verb == Route || r.Verb == Unroute {
		return e.table.add(r)
	}
	return e.meids.add(r)
}

// Commit ends the edit. What a change left as it was keeps its identity:
// where nothing changed, Table and MEIDs are the pointers they were.
func (e *Edit) Commit() (State, Changes) {
	var s State
	var c Changes
	s.Table, c.Routes = e.table.commit()
	s.MEIDs, c.MEIDs = e.meids.commit()
	return s, c
}
