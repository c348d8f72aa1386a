package peers

import (
	"slices"
	"testing"
)

// ManualScript is the federation of the IceStorm manual, for icestormadmin.
const ManualScript = "create A B C\nlink A B 0\nlink A C 1\n"

// MakeManualGraph has the stock icestormadmin run [ManualScript] and list the links.
func MakeManualGraph(t testing.TB, s Service) {
	t.Helper()
	stdout, stderr, exit := AdminScript(t, s.Manager, ManualScript, s.Properties...)
	if exit != 0 || stderr != "" {
		t.Fatalf("icestormadmin: exit %d: %s%s", exit, stdout, stderr)
	}
	CheckManualLinks(t, s)
}

// CheckManualLinks has the stock icestormadmin list the links of the manual's graph.
func CheckManualLinks(t testing.TB, s Service) {
	t.Helper()
	stdout, stderr, exit := Admin(t, s.Manager, append(slices.Clone(s.Properties), "links")...)
	want := "A to B with cost 0\nA to C with cost 1\n"
	if stdout != want || exit != 0 {
		t.Fatalf("links: got %q (exit %d, stderr %q), want %q", stdout, exit, stderr, want)
	}
}

// CheckManualOutcome publishes events with costs 0, 1, 2 and 0 on A and checks what the manual says: subscribers of A
// and B get all, those of C all but the one that costs 2. The services (at least one) are used in turn: A's subscriber
// at the first, B's at the next, C's, then the publisher, so that nodes of a cluster can take one part each. The graph
// must be there; the subscribers are gone afterwards.
func CheckManualOutcome(t testing.TB, pub, sub Language, services ...Service) {
	t.Helper()
	at := func(i int) Service { return services[i%len(services)] }
	all := []string{"0", "1", "2", "0"}
	want := map[string][]string{"A": all, "B": all, "C": {"0", "1", "0"}}
	subs := map[string]*Subscriber{}
	for i, topic := range []string{"A", "B", "C"} {
		// One way: events come in order, so that C's last one shows that the third was held back.
		subs[topic] = Subscribe(t, at(i), sub, topic, "--mode", "oneway", "--unsubscribe")
	}
	if settle := at(3).Settle; settle != nil {
		settle()
	}
	Publish(t, at(3), pub, "A", "--count", "4", "--cost", "0,1,2,0")
	for topic, costs := range want {
		subs[topic].WaitEvents(len(costs))
	}
	for topic, costs := range want {
		subs[topic].Stop() // what is still to come comes now
		if got := costsOf(subs[topic].Events()); !slices.Equal(got, costs) {
			t.Errorf("%s publisher, %s subscriber of %s: got costs %v, want %v", pub, sub, topic, got, costs)
		}
	}
}

func costsOf(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Cost)
	}
	return out
}
