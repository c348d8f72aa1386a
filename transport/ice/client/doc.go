// Package client is floe's outgoing side of the Ice protocol: it delivers
// events to subscribers, forwards them over links, and makes plain calls.
//
// A [Client] keeps one connection per endpoint, shared by all who send to it.
// Each connection has a writer, which gathers what its senders have ready,
// in turn, and writes it with one system call, and a reader for replies. The
// senders are [delivery.Sender]s; Client is a [delivery.Opener].
//
// What may be sent again is decided here: a message not wholly handed to the
// kernel, and a request that the peer had not answered when it closed the
// connection gracefully, were surely not executed. Everything else is never
// sent twice, but for batches to another floe cluster, whose receiver knows
// repeats by origin and sequence ([Dedupe]).
//
// The connection's life follows the manual of Ice 3.7, "The Ice Protocol".
package client
