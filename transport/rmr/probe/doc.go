// Package probe finds out which members of round-robin groups are dead, so
// that nothing is sent there.
//
// A dead member costs every program that has it in a group dearly: each n-th
// message fails for ever, and one that is merely stopped holds its senders up.
// So each node connects to the members again and again and tells the leader
// which do not answer; the leader withdraws what two nodes find dead, and takes
// it back when it answers again. What is withdrawn is part of the replicated
// state (fsm.Distribution.Dead); who sends and who pushes tables goes by that.
//
// DESIGN.md has the reasons.
package probe
