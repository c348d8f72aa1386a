// Package replay takes the committed log out of the data directories of nodes
// that have ended, for checkers.
package replay
