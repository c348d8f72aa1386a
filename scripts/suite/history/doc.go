// Package history records what clients of a cluster did and saw, as JSON
// lines written while it happens, so that a run that was killed can still be
// checked. Times are monotonic nanoseconds since the log was opened.
package history
