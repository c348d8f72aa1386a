// Package client is the Go client of floe's HTTP API. It is given the
// addresses of some nodes and tries them in turn: one that refuses the
// connection is passed at once, one that is silent after its share of the
// time. Errors are *api.Error values; before a change is sent, the node is
// asked whether it answers at all, so that a silent one counts as
// unreachable and not as an unknown outcome.
package client
