package main

import (
	"fmt"
	"strings"

	"floe/routing"
	"floe/transport/http/api"
)

// mtype is the type of the messages of all rows.
const mtype = 1000

// mapSize is how many MEIDs stand for many.
const mapSize = 1_000_000

// firstTable is what a cluster has before others are loaded: without any table, applications are not answered.
const firstTable = "newrt|start|first\nmse|999|-1|first.ricxapp:4560\nnewrt|end|1\n"

// routeText is a table of n entries, and a message that the last one of them is for.
func routeText(n int) (string, api.RouteQuery) {
	var b strings.Builder
	b.WriteString("newrt|start|bench\n")
	last := api.RouteQuery{}
	for i := range n {
		last.MType, last.SubID = int32(mtype+i%5000), int32(i/5000-1)
		fmt.Fprintf(&b, "mse|%d|%d|app%d.ricxapp:4560,app%d.ricxapp:4560\n", last.MType, last.SubID, i%100, i%101)
	}
	fmt.Fprintf(&b, "newrt|end|%d\n", n)
	return b.String(), last
}

// meidOf is the i-th MEID.
func meidOf(i int) string { return fmt.Sprintf("gnb_001_001_%08x", i) }

// mapText is a table that sends by MEID, with n MEIDs that the owners share, and a message that the last one of them
// is for.
func mapText(n int, owners []string) (string, api.RouteQuery) {
	const perRecord = 100
	var b strings.Builder
	fmt.Fprintf(&b, "newrt|start|bench\nmse|%d|-1|%%meid\nnewrt|end|1\nmeid_map|start|bench\n", mtype)
	records := 0
	for i := 0; i < n; i += perRecord {
		fmt.Fprintf(&b, "mme_ar|%s|", owners[i/perRecord%len(owners)])
		for j := i; j < min(i+perRecord, n); j++ {
			b.WriteString(meidOf(j))
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
		records++
	}
	fmt.Fprintf(&b, "meid_map|end|%d\n", records)
	return b.String(), api.RouteQuery{MType: mtype, SubID: routing.AnySubID, MEID: meidOf(n - 1)}
}

// tableTo is a table of one entry, whose one group has the endpoints.
func tableTo(endpoints ...string) string {
	return fmt.Sprintf("newrt|start|bench\nmse|%d|-1|%s\nnewrt|end|1\n", mtype, strings.Join(endpoints, ","))
}
