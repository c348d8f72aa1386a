package workload

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"floe/scripts/suite/history"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a client may conclude from an answer decides what a checker may
// demand: a doubt recorded as a failure would be a false alarm, the reverse a
// blind spot.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		err      error
		want     history.Type
		refused  bool
	}{
		"done":                    {"create", nil, history.OK, false},
		"create, was there":       {"create", &api.Error{Kind: api.TopicExists}, history.OK, true},
		"destroy, was not there":  {"destroy", &api.Error{Kind: api.NoSuchTopic}, history.OK, true},
		"link, no topic":          {"link", &api.Error{Kind: api.NoSuchTopic}, history.Fail, false},
		"link, was there":         {"link", &api.Error{Kind: api.LinkExists}, history.OK, true},
		"unlink, was not there":   {"unlink", &api.Error{Kind: api.NoSuchLink}, history.OK, true},
		"no quorum":               {"create", &api.Error{Kind: api.NoQuorum}, history.Fail, false},
		"connection refused":      {"create", &api.Error{Kind: api.Unreachable}, history.Fail, false},
		"unknown":                 {"create", &api.Error{Kind: api.UnknownOutcome}, history.Info, false},
		"internal":                {"create", &api.Error{Kind: api.Internal}, history.Info, false},
		"no answer of floe's":     {"create", errors.New("reset by peer"), history.Info, false},
		"wrapped":                 {"create", errors.Join(errors.New("n1"), &api.Error{Kind: api.UnknownOutcome}), history.Info, false},
		"replace, no such target": {"relink", &api.Error{Kind: api.NoSuchTopic}, history.Fail, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "h")
			log, err := history.Create(path, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			done := end(log.Invoke("c", "n1", c.function, "k", nil), c.function, &history.Value{ID: 3}, c.err)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			events, err := history.Lines[history.Event](path)
			if err != nil {
				t.Fatal(err)
			}
			got := history.Pair(events)[0]
			if got.Outcome != c.want || got.Out.Refused != c.refused || done != (c.err == nil) {
				t.Errorf("%s, refused %v, done %v; want %s, %v", got.Outcome, got.Out.Refused, done, c.want, c.refused)
			}
		})
	}
}

func TestWhatAdminSays(t *testing.T) {
	for text, want := range map[string]bool{
		"error: topic `a' exists":        true,
		"error: couldn't find topic `a'": true,
		"warning: topic `a' exists":      true,
		"error: link `a' already exists": true,
		"":                               false,
		"error: couldn't reach IceStorm service:\nsrc/x: ::Ice::ConnectionLostException:":    false,
		"error: couldn't reach IceStorm service:\nsrc/x: ::Ice::ConnectionRefusedException:": true,
		"error: couldn't reach IceStorm service:\nsrc/x: ::Ice::UnknownException: no quorum": false,
	} {
		if got := refusedByAdmin(text); got != want {
			t.Errorf("refusedByAdmin(%q) = %v, want %v", text, got, want)
		}
	}
}

// A record of the set workload is given to one client only, and a link is
// asked for once.
func TestPoolGivesEachRecordOnce(t *testing.T) {
	p, r := newPool(), rand.New(rand.NewPCG(1, 2))
	for range 10 {
		p.addTopic(p.fresh("t"))
	}
	seen := map[string]bool{}
	for range 1000 {
		from, to, ok := p.newPair(r)
		if key := from + ">" + to; ok && seen[key] {
			t.Errorf("%s twice", key)
		} else if ok {
			seen[key] = true
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d pairs of 10 topics, want 100", len(seen))
	}
	taken := map[string]bool{}
	for range 10 {
		name, ok := p.takeTopic(r)
		if !ok || taken[name] {
			t.Errorf("took %q, %v", name, ok)
		}
		taken[name] = true
	}
	if name, ok := p.topic(r); ok {
		t.Errorf("%q is left", name)
	}
}

func TestContendedTopicsGiveWay(t *testing.T) {
	p, r := newPool(), rand.New(rand.NewPCG(1, 2))
	used := map[string]int{}
	for range 5000 {
		used[p.contended(r)]++
	}
	for name, n := range used {
		if n > perSlot {
			t.Errorf("%s used %d times", name, n)
		}
	}
}

func TestPayload(t *testing.T) {
	topic, publisher, seq, cost := parsePayload(payload("ev-A", "n1-twoway-3", 77, -3))
	if topic != "ev-A" || publisher != "n1-twoway-3" || seq != 77 || cost != -3 {
		t.Errorf("read back %q %q %d %d", topic, publisher, seq, cost)
	}
	if topic, _, _, _ := parsePayload("unreadable"); topic != "unreadable" {
		t.Errorf("garbage is from %q", topic)
	}
}

func TestCanonicalProxiesDoNotDependOnWhoIsNamedFirst(t *testing.T) {
	id := proto.Identity{Name: "a.publish", Category: "IceStorm"}
	e := []proto.Endpoint{{Type: proto.EndpointTCP, Host: "10.0.0.1", Port: 1}, {Type: proto.EndpointTCP, Host: "10.0.0.2", Port: 1}}
	one, other := canonical(proto.NewProxy(id, e[0], e[1])), canonical(proto.NewProxy(id, e[1], e[0]))
	if d := cmp.Diff(one, other); d != "" {
		t.Error(d)
	}
}
