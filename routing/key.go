package routing

import (
	"cmp"
	"fmt"
)

// Bounds of what a state holds and of what one record may say. Those of the
// record are what an unmodified program reads without loss.
const (
	// MaxEntries is the most entries a table holds.
	MaxEntries = 1_000_000
	// MaxPerKey is the most entries of one key, that is, of sender lists.
	MaxPerKey = 4096
	// MaxMEIDs is the most MEIDs a map holds.
	MaxMEIDs = 4_000_000
	// MaxGroups is the most round-robin groups of an entry.
	MaxGroups = 64
	// MaxMembers is the most endpoints of a group.
	MaxMembers = 32
	// MaxSenders is the most senders an entry is limited to.
	MaxSenders = 126
	// MaxMEID is the longest MEID, in bytes: the header of a message has
	// room for no more.
	MaxMEID = 31
	// MaxEndpoint is the longest endpoint, in bytes.
	MaxEndpoint = 511
	// MaxRecordMEIDs is the most MEIDs that are written into one record. A
	// program reads 127 and loses the rest without a word.
	MaxRecordMEIDs = 100
)

// AnySubID is the subscription id of messages without one, and of entries
// that serve a type whatever the subscription id, where no entry names it.
const AnySubID int32 = -1

// Key is what entries are found by.
type Key struct {
	MType int32 // message type
	SubID int32 // subscription id, AnySubID for none
}

// String returns the key as MTYPE/SUBID.
func (k Key) String() string { return fmt.Sprintf("%d/%d", k.MType, k.SubID) }

// Compare orders keys by type, then by subscription id.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.MType, o.MType), cmp.Compare(k.SubID, o.SubID))
}

func (k Key) packed() uint64 { return uint64(uint32(k.MType))<<32 | uint64(uint32(k.SubID)) }

func unpack(p uint64) Key { return Key{MType: int32(p >> 32), SubID: int32(uint32(p))} }

// reserved says whether a type is one of those RMR keeps for itself.
func (k Key) reserved() bool { return k.MType >= 0 && k.MType <= 99 }
