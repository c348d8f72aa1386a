package peers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestManualExample(t *testing.T) {
	storm := IceStorm(t, "--ws")
	MakeManualGraph(t, storm.Service)
	for _, pub := range []Language{CPP, Python, JavaScript} {
		for _, sub := range []Language{CPP, Python} {
			CheckManualOutcome(t, pub, sub, storm.Service)
		}
	}
}

func TestManualExampleOnReplicas(t *testing.T) {
	storm := IceStorm(t, "--replicas", "3")
	MakeManualGraph(t, storm.Service)
	CheckManualOutcome(t, CPP, CPP, storm.Service)
	stdout, _, exit := Admin(t, storm.Manager, "replica")
	if !strings.HasPrefix(stdout, "replica count: 3\n") || exit != 0 {
		t.Errorf("replica: got %q, exit %d", stdout, exit)
	}
}

func TestGraphIsThereAfterRestart(t *testing.T) {
	data := t.TempDir()
	storm := IceStorm(t, "--dir", data)
	MakeManualGraph(t, storm.Service)
	storm.Kill()
	back := IceStorm(t, "--dir", data)
	if back.Manager == storm.Manager {
		t.Errorf("same address as before: %s", back.Manager)
	}
	CheckManualLinks(t, back.Service)
}

func TestAdmin(t *testing.T) {
	storm := IceStorm(t)
	for _, c := range []struct {
		name, at                   string
		commands                   []string
		wantOut, wantErr, wantExit any
	}{
		{"by proxy", storm.Manager, []string{"create A", "topics"}, "A\n", "", 0},
		{"by finder", storm.Finder, []string{"topics"}, "A\n", "", 0},
		{"property", storm.Manager, []string{"--Ice.Trace.Network=0", "current"}, "IceStorm/TopicManager\n", "", 0},
		{"refused", storm.Manager, []string{"create A"}, "", "error: topic `A' exists\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, exit := Admin(t, c.at, c.commands...)
			if stdout != c.wantOut || stderr != c.wantErr || exit != c.wantExit {
				t.Errorf("got %q, %q, %d", stdout, stderr, exit)
			}
		})
	}
}

func TestAdminScript(t *testing.T) {
	storm := IceStorm(t)
	stdout, stderr, exit := AdminScript(t, storm.Manager, "create A B\nlink A B 7 // why\n\nlinks\n")
	if got, want := Unprompted(stdout), "A to B with cost 7\n"; got != want || stderr != "" || exit != 0 {
		t.Errorf("got %q (raw %q), %q, %d, want %q", got, stdout, stderr, exit, want)
	}
}

func TestAdminThatSpinsIsKilled(t *testing.T) {
	storm := IceStorm(t)
	args := append(adminTarget(storm.Manager), "-e", "create \"open")
	if _, _, exit := runAdmin(t, 500*time.Millisecond, "", args); exit != -1 {
		t.Errorf("exit %d, want -1", exit)
	}
}

func TestEveryModeIsDelivered(t *testing.T) {
	storm := IceStorm(t, "--udp", "Flush.Timeout=50")
	for _, mode := range []string{"twoway", "ordered", "oneway", "batch", "datagram", "batchdatagram"} {
		t.Run(mode, func(t *testing.T) {
			sub := Subscribe(t, storm.Service, CPP, mode, "--mode", mode, "--create", "--print", "summary", "--expect", "30")
			pubMode := strings.Replace(mode, "ordered", "twoway", 1)
			got := Publish(t, storm.Service, CPP, mode, "--mode", pubMode, "--count", "10", "--threads", "3", "--size", "300")
			if got.Count != 30 || got.Acked != 30 {
				t.Errorf("published %+v, want 30", got)
			}
			if exit := sub.Wait(); exit != 0 {
				t.Errorf("exit %d", exit)
			}
			sum := sub.Summary(mode)
			if sum.Count != 30 || sum.Dup != 0 || sum.Gaps != 0 || sum.Foreign != 0 || sum.P50 <= 0 || sum.P99 < sum.P50 {
				t.Errorf("got %+v, want 30 events", sum)
			}
		})
	}
}

func TestEventsCarryWhatWasPublished(t *testing.T) {
	storm := IceStorm(t)
	for _, c := range []struct {
		args []string
		want Event
	}{
		{[]string{"--op", "mark", "--cost", " 5", "--size", "20"},
			Event{Op: "mark", Mode: "idempotent", Cost: " 5", Context: map[string]string{"cost": " 5"}, Ours: true, Bytes: 20}},
		{[]string{"--op", "count", "--context", "a b=x,y=z", "--encoding", "1.0"},
			Event{Op: "count", Mode: "normal", Cost: "-", Context: map[string]string{"a b": "x,y=z"}, Ours: true, Bytes: 16}},
		{[]string{"--op", "say", "--text", "grüße %41"},
			Event{Op: "say", Mode: "normal", Cost: "-", Bytes: 11, Text: "grüße %41"}},
	} {
		t.Run(c.want.Op, func(t *testing.T) {
			sub := Subscribe(t, storm.Service, CPP, c.want.Op, "--create")
			Publish(t, storm.Service, CPP, c.want.Op, append(c.args, "--publisher", "9", "--seq-start", "4")...)
			got := sub.WaitEvents(1)[0]
			c.want.Topic, c.want.Latency = c.want.Op, got.Latency
			if c.want.Ours {
				c.want.Publisher, c.want.Seq = 9, 4
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestUntypedSubscriberShowsEveryOperation(t *testing.T) {
	storm := IceStorm(t)
	sub := Subscribe(t, storm.Service, CPP, "T U", "--create", "--any")
	Publish(t, storm.Service, CPP, "T U")
	Publish(t, storm.Service, Python, "T U", "--text", "hello")
	got := sub.WaitEvents(2)
	if !got[0].Ours || got[0].Topic != "T U" || got[1].Op != "say" || got[1].Text != "hello 0" {
		t.Errorf("got %+v", got)
	}
	if sum := sub.Summary("T U"); sum.Count != 2 || sum.Foreign != 1 {
		t.Errorf("got %+v, want 2 events, 1 of them foreign", sum)
	}
}

func TestBehaviours(t *testing.T) {
	storm := IceStorm(t)
	sub := Subscribe(t, storm.Service, CPP, "T", "--create", "--identity", "s", "--behaviour", "throw-user")
	Publish(t, storm.Service, CPP, "T")
	sub.WaitEvents(1)
	sub.Behave("object-not-exist")
	Publish(t, storm.Service, CPP, "T", "--seq-start", "1")
	sub.WaitEvents(2)
	// A user exception counts as delivered; a missing object removes the subscriber once something is published.
	deadline := time.Now().Add(Patience)
	for {
		Publish(t, storm.Service, CPP, "T", "--seq-start", "2")
		lines, exit := Call(t, storm.Service, "subscribers", "T")
		if exit == 0 && slices.Equal(lines, []string{"done"}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %q", lines)
		}
	}
}

func TestHangingSubscriberStops(t *testing.T) {
	storm := IceStorm(t)
	sub := Subscribe(t, storm.Service, CPP, "T", "--create", "--behaviour", "hang")
	Publish(t, storm.Service, CPP, "T", "--count", "3")
	sub.WaitEvents(1)
	if exit := sub.Stop(); exit != 0 {
		t.Errorf("exit %d", exit)
	}
}

func TestPublisherGoesOnAfterErrors(t *testing.T) {
	data := t.TempDir()
	storm := IceStorm(t, "--dir", data)
	if _, exit := Call(t, storm.Service, "create", "T"); exit != 0 {
		t.Fatalf("create: exit %d", exit)
	}
	pub := StartPublisher(t, storm.Service, CPP, "T", "--count", "0", "--keep-going", "--each", "--rate", "200")
	pub.WaitLine("ok")
	storm.Kill()
	pub.WaitLine("err")
	IceStorm(t, append(storm.SamePorts(), "--dir", data)...)
	seen := len(pub.Lines())
	pub.WaitFor("an event accepted again", func(lines []string) bool {
		return slices.ContainsFunc(lines[seen:], func(l string) bool { return strings.HasPrefix(l, "ok ") })
	})
	pub.Stop()
	if got := pub.Result(); got.Errors == 0 || got.Acked+got.Errors != got.Count {
		t.Errorf("got %+v", got)
	}
}

func TestCall(t *testing.T) {
	storm := IceStorm(t)
	lines, exit := Call(t, storm.Service, "create-many", "--count", "50", "--inflight", "8", "--prefix", "n")
	if exit != 0 || fields(lines[0])["created"] != 50 {
		t.Errorf("create-many: got %q, exit %d", lines, exit)
	}
	if lines, exit = Call(t, storm.Service, "topics"); exit != 0 || !slices.Contains(lines, "count 50") {
		t.Errorf("topics: got %q, exit %d", lines, exit)
	}
	lines, exit = Call(t, storm.Service, "subscribe", "n1", "x:tcp -h 127.0.0.1 -p 9", "reliability=best")
	if want := "error ::IceStorm::BadQoS invalid reliability: best"; exit != 1 || lines[0] != want {
		t.Errorf("subscribe: got %q, exit %d, want %q", lines, exit, want)
	}
}

func TestForeignTopic(t *testing.T) {
	storm := IceStorm(t)
	Call(t, storm.Service, "create", "T")
	null, nullProxy := ForeignTopic(t, "null", "--name", "nobody")
	if lines, exit := Call(t, storm.Service, "link", "T", nullProxy, "0"); exit != 1 {
		t.Errorf("link to a null link proxy: got %q, exit %d", lines, exit)
	}
	null.WaitLine("asked")
	peer, proxy := ForeignTopic(t, "self", "--name", "other")
	if lines, exit := Call(t, storm.Service, "link", "T", proxy, "2"); exit != 0 {
		t.Fatalf("link: got %q", lines)
	}
	Publish(t, storm.Service, CPP, "T", "--count", "2", "--cost", "3,2")
	if got, want := peer.WaitLine("forwarded"), "tick 0 cost=2 23"; got != want {
		t.Errorf("forwarded %q, want %q", got, want)
	}
}

func TestRegistry(t *testing.T) {
	registry := IceGridRegistry(t)
	storm := IceStorm(t, "Ice.Default.Locator="+registry.Locator)
	if got := registry.AdapterEndpoints(t, "Indirect"); got != "" {
		t.Errorf("adapter before it is there: got %q", got)
	}
	sub := Subscribe(t, storm.Service, CPP, "T", "--create", "--adapter", "Indirect", "--Ice.Default.Locator="+registry.Locator)
	if got := registry.AdapterEndpoints(t, "Indirect"); !strings.Contains(got, sub.Endpoints) {
		t.Errorf("adapter: got %q, want %q", got, sub.Endpoints)
	}
	Publish(t, storm.Service, CPP, "T")
	sub.WaitEvents(1)
}

func TestFreePort(t *testing.T) {
	if port := FreePort(t, "127.0.0.1"); port < 1024 {
		t.Errorf("port %d", port)
	}
}
