// Package clustertest runs whole floe clusters inside a test: real nodes on
// real files in temporary directories, over a network in memory that the test
// owns and can cut and heal for each directed pair of nodes.
//
// Everything waits on conditions; nothing sleeps. The network has neither
// sockets nor timers of its own, so that a cluster also runs in a bubble of
// testing/synctest, where elections take no real time.
package clustertest
