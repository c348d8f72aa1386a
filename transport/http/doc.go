// Package http is floe's HTTP face: the JSON API that the command line uses,
// health checks and metrics.
//
// Calls live under /v1/ and take and give the values of package api. Reads
// are linearizable: they show every change acknowledged before. With ?stale=1
// a read is answered from the asked node's own copy, with or without quorum,
// and the headers Floe-Node, Floe-Index and Floe-Age (seconds since that node
// last heard the leader, -1 where it never did) say how good that copy is. A
// stale read that has the header Floe-Index waits until the copy is that far;
// the answer to a change names an index that has it.
//
// An answer that is not 2xx has the body {"error":{"kind":...,"message":...}}.
// The kinds and what they mean are one table, in package api.
//
// The header Floe-Timeout (milliseconds) is how long the caller waits; the
// server ends its work a little earlier, so that the caller gets an answer.
package http
