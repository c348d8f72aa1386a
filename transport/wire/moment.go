package wire

import "time"

// began is when the program did.
var began = time.Now()

// moment returns a time that time.Now gave in nanoseconds since then: unlike the
// time since 1970 it does not jump when somebody sets the clock.
func moment(t time.Time) int64 { return int64(t.Sub(began)) }
