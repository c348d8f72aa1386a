package check

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tables of the routes workload. All have the same keys: two marks that say
// which table it is, between them routes that copy each message to all sinks
// of one side, and a route by MEID.
const (
	// FirstMark and LastMark are the types of the marks.
	FirstMark, LastMark = 20000, 29999
	// FirstRoute is the first of RouteCount routes in between.
	FirstRoute, RouteCount = 20001, 24
	// ByMEID is the type of messages that go to the owner of their MEID.
	ByMEID = 29000
)

// Side is A or B: where all routes of a table lead.
func Side(table uint64) string {
	if table%2 == 0 {
		return "A"
	}
	return "B"
}

// Mark is the endpoint of a table's marks. Nobody sends there.
func Mark(table uint64) string { return fmt.Sprintf("table-%d:1", table) }

// Sinks maps the endpoints of sinks to their sides.
type Sinks map[string]string

// ReadTable says which of the workload's tables the lines of a route table
// are, and what in it does not belong there. Lines are as TableLines gives
// them; a table without marks is number 0.
func (s Sinks) ReadTable(lines []string) (table uint64, mixed string) {
	var first, last uint64
	sides := map[string]int{}
	for _, line := range lines {
		key, groups, isRoute := strings.Cut(strings.TrimPrefix(line, "mse|"), "|-1|")
		mtype, err := strconv.Atoi(key)
		switch {
		case !isRoute || err != nil:
		case mtype == FirstMark:
			_, _ = fmt.Sscanf(groups, "table-%d:1", &first)
		case mtype == LastMark:
			_, _ = fmt.Sscanf(groups, "table-%d:1", &last)
		case mtype >= FirstRoute && mtype < FirstRoute+RouteCount:
			for _, endpoint := range strings.FieldsFunc(groups, func(r rune) bool { return r == ';' || r == ',' }) {
				sides[s[endpoint]]++
			}
		}
	}
	side := Side(first)
	switch {
	case first != last:
		mixed = fmt.Sprintf("begins as table %d, ends as table %d", first, last)
	case first != 0 && (len(sides) != 1 || sides[side] == 0):
		mixed = fmt.Sprintf("table %d leads to side %s alone, here is %v", first, side, sides)
	case first != 0 && sides[side]%RouteCount != 0:
		mixed = fmt.Sprintf("table %d has %d copies for %d routes", first, sides[side], RouteCount)
	}
	return first, mixed
}

// TableLines takes a route text apart: one sorted line for each route, and
// one, MEID and owner, for each MEID.
func TableLines(text string) (routes []string, owners map[string]string) {
	owners = map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch word, rest, _ := strings.Cut(line, "|"); word {
		case "mse":
			routes = append(routes, line)
		case "mme_ar":
			owner, meids, _ := strings.Cut(rest, "|")
			for _, meid := range strings.Fields(meids) {
				owners[meid] = owner
			}
		}
	}
	slices.Sort(routes)
	return routes, owners
}

// Sum is a short name of a list of routes and of a map.
func Sum(routes []string, owners map[string]string) string {
	h := sha256.New()
	for _, r := range routes {
		fmt.Fprintln(h, r)
	}
	for _, meid := range sorted(owners) {
		fmt.Fprintln(h, meid, owners[meid])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// SumTopics is a short name of topics with their ids.
func SumTopics(topics map[string]uint64) string {
	h := sha256.New()
	for _, name := range sorted(topics) {
		fmt.Fprintln(h, name, topics[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
