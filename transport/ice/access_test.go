package ice

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"floe/fsm"
	"floe/transport/ice/proto"
)

func TestAccessRulesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"change=cert; publish = any":          "",
		"create,destroy=10.0.0.0/8,cert:root": "",
		"change=none;create=any":              "",
		"change":                              `rule "change": WHAT=WHO is meant`,
		"alter=any":                           `"alter" is neither an operation of IceStorm nor one of read, publish, subscribe, change`,
		"change=10.0.0.1":                     `"10.0.0.1" is none of any, none, cert`,
		"change=":                             `"" is none of any`,
		"change=cert:":                        `"cert:" is none of any`,
		"create=any;create=none":              "two rules are for create",
		"read=any;read=none":                  "two rules are for read",
		"change=any;":                         "WHAT=WHO",
	} {
		a, err := ParseAccess(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if err == nil && a.String() != text {
			t.Errorf("%q is shown as %q", text, a)
		}
		if cert := strings.Contains(text, "cert"); err == nil && a.Certificates() != cert {
			t.Errorf("%q looks at certificates: %v", text, !cert)
		}
	}
}

// No operation is forgotten: rules can name each one, and a word stands for it.
func TestEveryOperationHasARule(t *testing.T) {
	all := []string{publishing}
	for o := range managerType.Operations {
		all = append(all, o)
	}
	for o := range topicOperations() {
		all = append(all, o)
	}
	for o := range linkType.Operations {
		all = append(all, o)
	}
	for _, o := range all {
		if wordOf[o] == "" {
			t.Errorf("no word stands for %s", o)
		}
	}
	if len(all) != len(wordOf) {
		t.Errorf("%d operations, and words for %d", len(all), len(wordOf))
	}
}

// What a rule keeps out is refused in words, over connections and datagrams, and
// the rest goes on; events are told from operations by the object, not by name.
func TestAccess(t *testing.T) {
	events := func(f *testFace) int {
		f.hub.mu.Lock()
		defer f.hub.mu.Unlock()
		return len(f.hub.events)
	}
	for _, tt := range []struct {
		rules                   string
		create, list, publishes bool
	}{
		{"", true, true, true},
		{"change=none", false, true, true},
		{"change=any", true, true, true},
		{"change=cert", false, true, true},
		{"change=127.0.0.0/8", true, true, true},
		{"change=10.0.0.0/8,::1/128", false, true, true},
		{"change=none;create=127.0.0.1/32", true, true, true},
		{"create=none;change=any", false, true, true},
		{"read=none", true, false, true},
		{"publish=none", true, true, false},
		{"publish=10.0.0.0/8", true, true, false},
		{"publish=cert:root,127.0.0.1/32", true, true, true},
	} {
		t.Run(tt.rules, func(t *testing.T) {
			access, err := ParseAccess(tt.rules)
			if err != nil {
				t.Fatal(err)
			}
			f := startFace(t, newGroup(t, "IceStorm", fsm.CreateTopic{Name: "A"}), func(c *Config) { c.Access = access })
			c := f.dial(t)
			check := func(what string, want bool, err error) {
				t.Helper()
				switch {
				case want && err != nil:
					t.Errorf("%s: %v", what, err)
				case !want && (err == nil || !strings.Contains(err.Error(), what+" is not for 127.0.0.1:") || !strings.Contains(err.Error(), "--ice-allow")):
					t.Errorf("%s: got %v, want a refusal", what, err)
				}
			}
			r := c.call(manager, "create", proto.ModeNormal, str("B"))
			check("create", tt.create, r.Err())
			if there := f.group.View().Graph.Topic("B") != nil; there != tt.create {
				t.Errorf("topic B is there: %v", there)
			}
			r = c.call(manager, "retrieveAll", proto.ModeIdempotent, func(b []byte) []byte { return b })
			check("retrieveAll", tt.list, r.Err())
			r = c.call(obj("IceStorm", "A.publish"), "create", proto.ModeNormal, str("x"))
			check("publish", tt.publishes, r.Err())
			if got := events(f); (got == 1) != tt.publishes {
				t.Errorf("%d events", got)
			}
			ping := c.call(obj("IceStorm", "topic.A"), "ice_ping", proto.ModeNormal, func(b []byte) []byte { return b })
			if ping.Err() != nil {
				t.Errorf("ping: %v", ping.Err())
			}

			udp, err := net.Dial("udp", f.udp)
			if err != nil {
				t.Fatal(err)
			}
			defer udp.Close()
			before := f.Refused()["publish"]
			if _, err := udp.Write(request(0, obj("IceStorm", "A.publish"), "tick", proto.ModeNormal, str("x"))); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, "the datagram is taken or refused", func() bool {
				return tt.publishes && events(f) == 2 || !tt.publishes && f.Refused()["publish"] == before+1
			})
			want := map[bool]uint64{false: 1}
			if got := fmt.Sprint(f.Refused()["change"], f.Refused()["read"]); got != fmt.Sprint(want[tt.create], want[tt.list]) {
				t.Errorf("refused changes and reads: %s", got)
			}
		})
	}
}

// waitUntil waits for a condition, 10 s at most.
func waitUntil(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(10*time.Second)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}
