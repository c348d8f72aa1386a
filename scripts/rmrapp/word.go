package rmrapp

import (
	"slices"
	"strings"

	"floe/routing"
)

// What a record is, as far as records of faults and events need it. What it
// does to the table only the reader knows.

// blank says that the library passes over a record.
func blank(record string) bool {
	record = strings.TrimSpace(record)
	return record == "" || record[0] == '#'
}

// begins says that a record begins a table, if the library takes it for one.
func begins(record string) bool { return kindOf(record) != 0 && !ends(record) }

// ends says that a record ends a table.
func ends(record string) bool {
	fields := strings.Split(record, "|")
	return kindOf(record) != 0 && len(fields) > 1 && strings.TrimSpace(fields[1]) == "end"
}

// kindOf is the kind of table that a record begins or ends, 0 if it does
// neither. The library goes by the first letter.
func kindOf(record string) routing.Kind {
	word := strings.TrimSpace(record)
	switch {
	case strings.HasPrefix(word, "n"):
		return routing.FullTable
	case strings.HasPrefix(word, "u"):
		return routing.TableDelta
	case strings.HasPrefix(word, routing.MapUpdate.String()):
		return routing.MapUpdate
	}
	return 0
}

// firstRecord returns the first record that the library does not pass over.
func firstRecord(text string) string {
	for record := range strings.SplitSeq(text, "\n") {
		if !blank(record) {
			return record
		}
	}
	return ""
}

// misfit gives an end record a count that never fits, and leaves others alone.
func misfit(record string) string {
	if !ends(record) {
		return record
	}
	return kindOf(record).String() + "|end|-1"
}

// emptyMember says that a route has a group with an empty endpoint.
func emptyMember(record string) bool {
	fields := strings.Split(record, "|")
	word, at := strings.TrimSpace(fields[0]), 2
	switch {
	case word == "mse":
		at = 3
	case !strings.HasPrefix(word, "r"):
		return false
	}
	if len(fields) <= at {
		return false
	}
	groups, _, _ := strings.Cut(fields[at], " #")
	return slices.ContainsFunc(strings.Split(strings.TrimSpace(groups), ";"), func(g string) bool {
		return g != "" && slices.Contains(strings.Split(g, ","), "")
	})
}
