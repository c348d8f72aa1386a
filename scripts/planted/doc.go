// Package planted holds the names of bugs that can be built into floe on
// purpose, to see whether the failure suite catches them: scripts/jepsen
// planted. They are there only in a program built with the tag planted, and
// only the one that FLOE_PLANTED names is active.
//
// Each package with such a bug has a file planted.go for that tag, and
// unplanted.go, where it is a constant false that costs nothing.
package planted
