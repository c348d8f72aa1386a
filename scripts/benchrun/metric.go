package main

import (
	"fmt"
	"math"
	"strconv"
)

// metric names a figure with its unit, as the tables head it.
type metric string

const (
	delivered metric = "delivered/s"  // events that arrived, all subscribers together
	cpuEvent  metric = "CPU µs/event" // of the servers, per event delivered to a subscriber
	cores     metric = "server cores" // cores the servers kept busy
	loss      metric = "loss %"       // of the events due to all subscribers
	peak      metric = "peak MB"      // most memory that the servers had at once
	p50       metric = "p50 µs"       // from publishing to arrival, the middle subscriber's
	p99       metric = "p99 µs"       // the same, the slowest subscriber's
	creates   metric = "creates/s"    // topics made and acknowledged
	memory    metric = "MB"           // resident
	idleCPU   metric = "idle ms/s"    // CPU time used in a second without any work
	answer    metric = "ms to answer" // from start to the first answer to an Ice client
	ready     metric = "ms to ready"  // from start until it takes changes
)

// The figures of the RMR rows.
const (
	perOp        metric = "ns"               // of one call, the best of several runs
	allocs       metric = "allocations"      // of one call
	readable     metric = "ms to readable"   // from the start of `floe routes load` until every node answers by the table
	acked        metric = "ms to ack"        // until an application has acknowledged it
	loadCPU      metric = "CPU ms"           // of all nodes together, until then; it says more than times on a busy machine
	held         metric = "held ms"          // the longest that making a topic took meanwhile
	heldBeside   metric = "beside ms"        // the longest at the same time on a node of its own without a load
	leaderRSS    metric = "leader MB"        // VmRSS of the leader
	leaderAnon   metric = "leader anon MB"   // RssAnon: without the program's text and the mapped pages of its log
	followerRSS  metric = "follower MB"      // VmRSS of the larger follower
	followerAnon metric = "follower anon MB" // RssAnon of the larger follower
	messages     metric = "messages/s"       // that arrived, all receivers together
	cpuMessage   metric = "CPU µs/message"   // of floe, per message that arrived
	directP50    metric = "direct p50 µs"    // the same applications without floe between them
	directP99    metric = "direct p99 µs"
	lastAck      metric = "ms to last ack" // from a change's request to the last application's acknowledgement
	worstAck     metric = "worst ms"       // the same, of the slowest change
)

// sample holds the figures of one run.
type sample map[metric]float64

// format prints a figure in as many digits as it deserves.
func format(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	case abs >= 100:
		return grouped(int64(math.Round(v)))
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// grouped puts a blank between thousands.
func grouped(v int64) string {
	if v < 0 {
		return "-" + grouped(-v)
	}
	if v < 1000 {
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprintf("%s %03d", grouped(v/1000), v%1000)
}
