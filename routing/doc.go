// Package routing holds route tables and MEID maps as programs of the O-RAN
// RMR library know them: what the text means, which endpoint gets a message,
// and what must be sent to a program so that it holds the same.
//
// A [State] is a [Table] and a [MEIDMap], both immutable: a change makes a
// new one ([State.Apply], whole or not at all) that shares with the old one
// whatever it did not touch, so that a reader keeps what it holds without a
// lock. The package knows no socket, disk, clock, randomness or Raft: the
// same calls give the same state, the same text and the same [Digest] on
// every node.
//
// The text has two faces over one grammar. [Parse] is strict and is what
// people's files go through: it finds what the library would drop, misread
// or die of, and says where. [Reader] does record by record what version
// 4.9.4 of the library does with a text, as a program that got it would.
package routing
