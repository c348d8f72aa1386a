package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"floe/transport/http/api"
)

// sayNodes prints what each node says of itself, a line each. Nodes of older
// programs say less.
func (s *session) sayNodes(st api.Status) {
	if len(st.Nodes) == 0 {
		s.sayMembers(st.Members)
		return
	}
	voters := map[string]bool{}
	for _, m := range st.Members {
		voters[m.ID] = m.Voter
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tADDRESS\tROLE\tVOTER\tVERSION\tAPPLIED\tLAG\tCONTACT\tDISK FREE\tCONNS\tQUEUED\tDROPPED")
	for _, n := range st.Nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\t%s\n", n.ID, n.Address, roleText(n.Role, n.Draining), voters[n.ID], n.Version, figuresText(n))
	}
	_ = w.Flush() // stdout is gone if this fails
}

// figuresText is what only a node that answers knows.
func figuresText(n api.NodeReport) string {
	if !n.Answers {
		return "-\t-\t-\t-\t-\t-\t-"
	}
	contact := "never"
	if n.ContactAge >= 0 {
		contact = time.Duration(n.ContactAge * float64(time.Second)).Round(100 * time.Millisecond).String()
	}
	connections := 0
	for _, c := range n.Connections {
		connections += c
	}
	return fmt.Sprintf("%d\t%d\t%s\t%s\t%d\t%d\t%d", n.AppliedIndex, n.Lag, contact, bytesText(n.DiskFree), connections,
		n.Events.Queued+n.Messages.Queued, n.Events.Dropped+n.Messages.Dropped)
}

// bytesText is a size as a person says it.
func bytesText(n uint64) string {
	size, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if unit == 0 || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
