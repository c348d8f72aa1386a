// Package ops proves, with the real program as processes on loopback, what operators rely on: the ways to start and
// restart nodes, membership, what is refused and how, bad input, and the figures of idle memory and of start times.
// It holds tests only.
package ops
