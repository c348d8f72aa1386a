package rmrapp

import "fmt"

// CheckRising returns an error if, within one incarnation, an App applied a table
// with an older version than the one before. version returns the version
// that a table's id stands for.
func CheckRising(events []Event, version func(id string) (uint64, error)) error {
	var newest uint64
	incarnation := 0
	for _, e := range events {
		if !e.Applied {
			continue
		}
		v, err := version(e.ID)
		if err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
		if e.Incarnation == incarnation && v < newest {
			return fmt.Errorf("%v: version %d after %d", e, v, newest)
		}
		newest, incarnation = v, e.Incarnation
	}
	return nil
}

// LastAcked returns the newest event whose table was applied and
// acknowledged, false if there is none.
func LastAcked(events []Event) (Event, bool) {
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Applied && e.Unsent == "" {
			return e, true
		}
	}
	return Event{}, false
}
