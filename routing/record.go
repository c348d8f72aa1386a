package routing

import "fmt"

// Kind says what a block of records starts from.
type Kind uint8

// The kinds of block. What is sent to programs and stored uses the numbers.
const (
	// FullTable (newrt) drops all routes first. The MEID map stays.
	FullTable Kind = 1
	// TableDelta (updatert) starts from the present routes.
	TableDelta Kind = 2
	// MapUpdate (meid_map) starts from the present routes and map, as a
	// TableDelta does; the two differ in which records their end counts.
	MapUpdate Kind = 3
)

// String returns the word that opens such a block.
func (k Kind) String() string {
	switch k {
	case FullTable:
		return "newrt"
	case TableDelta:
		return "updatert"
	case MapUpdate:
		return "meid_map"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Verb says what a record does.
type Verb uint8

// The verbs. What is stored uses the numbers.
const (
	Route   Verb = 1 // mse, rte: Key, Senders, and ByMEID or Groups
	Unroute Verb = 2 // del: Key, Senders
	Assign  Verb = 3 // mme_ar: Owner, MEIDs
	Release Verb = 4 // mme_del: MEIDs
)

// String returns the word of the record.
func (v Verb) String() string {
	switch v {
	case Route:
		return "mse"
	case Unroute:
		return "del"
	case Assign:
		return "mme_ar"
	case Release:
		return "mme_del"
	}
	return fmt.Sprintf("verb %d", uint8(v))
}

// Record is one change of a table or map.
type Record struct {
	Verb    Verb
	Key     Key
	Senders []string   // who it is for, none for everybody
	ByMEID  bool       // %meid: the owner of the message's MEID gets it
	Groups  [][]string // each group gets a copy, its members take turns
	Owner   string
	MEIDs   []string
}

// Block is records that take effect together.
type Block struct {
	Kind    Kind
	ID      string // table id of the text, of no effect
	Records []Record
}

// Update is what one text asks for: its blocks one after the other.
type Update struct {
	Blocks []Block
}

// Check returns an error if no text could carry the record, or a program
// would lose part of it or come to harm.
func (r *Record) Check() error {
	switch r.Verb {
	case Route:
		if err := checkSenders(r.Senders); err != nil {
			return err
		}
		return checkGroups(r.ByMEID, r.Groups)
	case Unroute:
		return checkSenders(r.Senders)
	case Assign:
		if err := CheckOwner(r.Owner); err != nil {
			return err
		}
		return checkMEIDs(r.MEIDs)
	case Release:
		return checkMEIDs(r.MEIDs)
	}
	return fmt.Errorf("%v is no record", r.Verb)
}

func checkSenders(senders []string) error {
	if len(senders) > MaxSenders {
		return fmt.Errorf("%d senders, at most %d", len(senders), MaxSenders)
	}
	for _, s := range senders {
		if err := CheckSender(s); err != nil {
			return err
		}
	}
	return nil
}

func checkGroups(byMEID bool, groups [][]string) error {
	switch {
	case byMEID && len(groups) > 0:
		return errMarkerNotAlone
	case !byMEID && len(groups) == 0:
		return errNoEndpoint
	case len(groups) > MaxGroups:
		return tooManyGroups(len(groups))
	}
	for _, g := range groups {
		if err := checkGroup(g); err != nil {
			return err
		}
	}
	return nil
}

func checkGroup(group []string) error {
	if len(group) == 0 {
		return errEmptyMember
	}
	if len(group) > MaxMembers {
		return tooManyMembers(len(group))
	}
	for _, m := range group {
		if err := CheckEndpoint(m); err != nil {
			return err
		}
	}
	return nil
}

func checkMEIDs(meids []string) error {
	if len(meids) == 0 {
		return errEmptyMEID
	}
	for _, m := range meids {
		if err := CheckMEID(m); err != nil {
			return err
		}
	}
	return nil
}
