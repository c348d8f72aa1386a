// Package nemesis carries a schedule out on a lab: every fault is begun and
// ended at its time, and everything is whole again when it returns.
package nemesis
