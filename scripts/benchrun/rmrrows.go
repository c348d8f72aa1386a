package main

import "fmt"

var (
	lookingUp  = &table{title: "Looking up a message's route", metrics: []metric{perOp, allocs}}
	loading    = &table{title: "Loading routes", metrics: []metric{readable, acked, loadCPU, held, heldBeside, leaderRSS, leaderAnon, followerRSS, followerAnon}}
	forwarding = &table{title: "Forwarding messages", metrics: []metric{messages, cpuMessage, loss, cores}, limited: true}
	calling    = &table{title: "Calls", metrics: []metric{p50, p99, directP50, directP99}}
	changing   = &table{title: "From a change to the last acknowledgement", metrics: []metric{lastAck, worstAck}}
)

// rmrRows is everything of RMR that can be measured, in the order of the tables. Senders send for so many seconds.
func rmrRows(seconds float64) []row {
	all := lookupRows()
	for _, nodes := range []int{1, 3} {
		all = append(all, loadRows(nodes)...)
	}
	all = append(all, forwardRows(seconds)...)
	for _, size := range []int{16, 256, 4096} {
		all = append(all, row{
			name: fmt.Sprintf("call %d B", size), table: calling, alone: true, short: size == 256,
			runner: trip{size: size, calls: max(100, int(1000*seconds))},
		})
	}
	for _, c := range []change{{1, 100}, {1, 1000}, {3, 100}, {3, 1000}} {
		r := row{
			name: fmt.Sprintf("%d applications, %s", c.apps, nodesText(c.nodes)), table: changing, alone: true, runner: c,
			short: c.apps == 100 && c.nodes == 1,
		}
		if c.apps == 1000 {
			r.targets = []target{{metric: worstAck, limit: 2000}}
		}
		all = append(all, r)
	}
	return all
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

func lookupRows() []row {
	types := []target{{metric: perOp, limit: 100}, {metric: allocs}}
	meids := []target{{metric: perOp, limit: 200}, {metric: allocs}}
	return []row{
		{name: "by type and subscription id", table: lookingUp, targets: types, alone: true, runner: lookup{"^BenchmarkLookupType$/^exact$"}, short: true},
		{name: "by type alone", table: lookingUp, targets: types, alone: true, runner: lookup{"^BenchmarkLookupType$/^fallback$"}},
		{name: "by type, with a member of the group", table: lookingUp, targets: types, alone: true, runner: lookup{"^BenchmarkLookupType$/^exact_and_pick$"}},
		{name: "by MEID among 1 000 000", table: lookingUp, targets: meids, alone: true, runner: lookup{"^BenchmarkLookupMEID$"}, short: true},
	}
}

// loadRows have targets where there is much to load.
func loadRows(nodes int) []row {
	var rows []row
	for _, entries := range []int{10, 1000, 100_000} {
		r := row{
			name: fmt.Sprintf("%s entries, %s", grouped(int64(entries)), nodesText(nodes)), table: loading, alone: true,
			runner: tableLoad{nodes: nodes, entries: entries},
		}
		if entries == 100_000 {
			r.short = nodes == 1
			r.targets = []target{{metric: readable, limit: 1000}, {metric: held, limit: 50}}
		}
		rows = append(rows, r)
	}
	all := row{
		name: fmt.Sprintf("%s MEIDs, %s", grouped(mapSize), nodesText(nodes)), table: loading, alone: true, short: nodes == 3,
		runner:  tableLoad{nodes: nodes, meids: mapSize},
		targets: []target{{metric: readable, limit: 3000}, {metric: held, limit: 50}, {metric: leaderRSS, limit: 250}},
	}
	if nodes > 1 {
		all.targets = append(all.targets, target{metric: followerRSS, limit: 250})
	}
	return append(rows, all)
}

func forwardRows(seconds float64) []row {
	var rows []row
	for _, to := range []int{1, 4} {
		for _, size := range []int{16, 256, 4096} {
			rows = append(rows, forwardRow(fmt.Sprintf("1->%d %d B", to, size), forward{size: size, to: to, seconds: seconds}))
		}
	}
	return append(rows,
		forwardRow("1->1 256 B by MEID among 1 000 000", forward{size: 256, to: 1, byMEID: true, seconds: seconds}),
		forwardRow("1->4 256 B by MEID among 1 000 000", forward{size: 256, to: 4, byMEID: true, seconds: seconds}),
		forwardRow("1->1 256 B more than it can take", forward{size: 256, to: 1, flood: true, seconds: seconds}),
	)
}

// forwardRow demands that nothing is lost, but where a sender sends whatever happens.
func forwardRow(name string, w forward) row {
	r := row{name: name, table: forwarding, runner: w, short: w.size == 256 && w.to == 1 && !w.flood}
	if w.size == 256 {
		r.targets = append(r.targets, target{metric: messages, atLeast: true, limit: 300_000})
	}
	if !w.flood {
		r.targets = append(r.targets, target{metric: loss})
	}
	return r
}
