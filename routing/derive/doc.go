// Package derive makes routes and MEIDs from what the managers of a RIC say:
// which xApps run (appmgr), which E2 terminations there are and whose RANs
// are whose (e2mgr), who subscribed to what (submgr), and which routes people
// added by hand. The rules are those of the old route manager.
//
// [Facts] are immutable. A [Change] makes new ones, and [Facts.State] is what
// follows from them: the same facts give the same table, byte by byte,
// however they came about. A change costs the keys and MEIDs it touches, so
// the RAN that connects among ten thousand others costs one MEID.
//
// The package is as pure as package routing: it knows no socket, disk or
// clock, and imports nothing of floe but routing.
package derive
