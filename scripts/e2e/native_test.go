package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// A native subscriber on one node gets what Ice programs publish on another, also over a link; and Ice programs get what
// floe pub publishes, as one sequence of bytes or as one string.
func TestNativeAndIceProgramsMeet(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2, n3 := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	admin(t, service(n1), "create A B; link A B 5")
	native := make(chan floetest.Output, 1)
	go func() {
		o, err := floetest.RunFloe("", "sub", "B", "--count", "3", "--json", "--addr", n1.HTTP())
		if err != nil {
			o.Stderr += err.Error()
		}
		native <- o
	}()
	waitMetric(t, n1, func(v float64) bool { return v == 1 }, "floe_native_subscribers")
	// The other nodes learn of the subscriber a moment later: what was published before that is not meant for it.
	pub := peers.StartPublisher(t, service(n2), peers.CPP, "A", "--count", "0", "--rate", "20", "--cost", "6,4", "--op", "mark",
		"--publisher-kind", "local")
	o := <-native
	pub.Stop()
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	if o.Exit != 0 || len(lines) != 3 {
		t.Fatalf("%v", o)
	}
	for _, line := range lines {
		if !strings.Contains(line, `"cost":4`) || !strings.Contains(line, `"operation":"mark"`) || !strings.Contains(line, `"topic":"B"`) {
			t.Errorf("floe sub: %s", line)
		}
	}

	sub := peers.Subscribe(t, service(n1), peers.CPP, "B", "--mode", "oneway")
	waitCopies(t, c.Nodes, 1)
	n3.Must("pub", "A", "hello", "--cost", "3", "--context", "k=v")
	n3.Must("pub", "A", "world", "--op", "say", "--ice-string")
	var got []string
	for _, e := range sub.WaitEvents(2) {
		got = append(got, fmt.Sprint(e.Op, " ", e.Cost, " ", e.Text, " ", e.Context["k"]))
	}
	if want := []string{"message 3 hello v", "say - world "}; !slices.Equal(got, want) {
		t.Errorf("Ice subscriber: got %q, want %q", got, want)
	}
}

// A native subscriber goes on at another node of its list when its own dies, and says that events may be missing.
func TestNativeSubscriberOutlivesItsNode(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2, n3 := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	n3.Must("create", "A")
	native := make(chan floetest.Output, 1)
	go func() {
		o, err := floetest.RunFloe("", "sub", "A", "--count", "2", "--timeout", "1m", "--addr", n1.HTTP()+","+n2.HTTP())
		if err != nil {
			o.Stderr += err.Error()
		}
		native <- o
	}()
	one := func(v float64) bool { return v == 1 }
	waitMetric(t, n1, one, "floe_native_subscribers")
	n1.Must("pub", "A", "before")
	n1.Kill()
	waitMetric(t, n2, one, "floe_native_subscribers")
	n2.Must("pub", "A", "after")
	o := <-native
	if want := "A\tmessage\t0\t\tbefore\nA\tmessage\t0\t\tafter\n"; o.Exit != 0 || o.Stdout != want {
		t.Fatalf("got %v, want %q", o, want)
	}
	if want := "events may be missing: the event stream from " + n1.HTTP() + " ended"; !strings.Contains(o.Stderr, want) || !strings.Contains(o.Stderr, n2.HTTP()+" goes on") {
		t.Errorf("stderr %q, want %q and who goes on", o.Stderr, want)
	}
}
