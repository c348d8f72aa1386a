package relay_test

import (
	"fmt"
	"strings"
	"testing"

	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

// S06: an application whose queue is full says so to an alarm manager, which
// floe is to it: the alarm is there to be seen until it is over.
func TestAlarmOfAnApplicationThatDropsMessages(t *testing.T) {
	n := start(t, relay.Config{})
	nc := dial(t, n.rmr)
	say := func(body string) {
		m := text(110, body)
		m.Src = []byte("app0:45610")
		write(t, nc, frame(t, m))
	}
	alarm := func(times uint64, raised bool) func() bool {
		return func() bool {
			s := n.Stats()
			return len(s.Alarms) == 1 && s.Alarms[0].Times == times && s.Alarms[0].Raised == raised
		}
	}
	say(`{ "applicationId": "rtdump", "identifyingInfo": "application running slow; RMR is dropping messages", "AlarmAction": "RAISE", "AlarmTime": 1795986526085 }`)
	eventually(t, "it is raised", alarm(1, true))
	if got := n.Stats().Alarms[0]; got.Source != "app0:45610" || !strings.Contains(got.Text, "running slow") {
		t.Errorf("%+v", got)
	}
	say(`{ "AlarmAction": "CLEAR" }`)
	eventually(t, "it is over", alarm(1, false))
	say(`no JSON`)
	say(`{ "identifyingInfo": "` + strings.Repeat("x", 10_000) + `", "AlarmAction": "RAISE" }`)
	eventually(t, "it is raised again", alarm(2, true))
	if s := n.Stats(); len(s.Alarms[0].Text) > 200 || s.Total.Lost() != 0 {
		t.Errorf("%+v", s)
	}

	other := text(110, `{ "AlarmAction": "RAISE" }`)
	other.Src = nil
	write(t, nc, frame(t, other))
	m := proto.Message{Type: 999, SubID: proto.NoSubID}
	write(t, nc, frame(t, m))
	eventually(t, "all is taken", func() bool { return n.Stats().Total.Lost() == 1 })
	if got := n.Stats().Alarms; len(got) != 1 {
		t.Errorf("an alarm of nobody: %+v", got)
	}
}

// The alarms of so many applications are told of; those of others are not, and theirs go on.
func TestAlarmsOfTooManyApplications(t *testing.T) {
	const most = 1000
	n := start(t, relay.Config{})
	nc := dial(t, n.rmr)
	say := func(app int, action string) {
		m := text(110, `{ "AlarmAction": "`+action+`" }`)
		m.Src = fmt.Appendf(nil, "app%04d:4561", app)
		write(t, nc, frame(t, m))
	}
	for app := range most + 3 {
		say(app, "RAISE")
	}
	say(0, "CLEAR")
	eventually(t, "the last is heard", func() bool {
		s := n.Stats()
		return len(s.Alarms) > 0 && !s.Alarms[0].Raised
	})
	got := n.Stats().Alarms
	if last := got[len(got)-1]; len(got) != most || last.Source != "app0999:4561" || !last.Raised {
		t.Errorf("%d alarms, the last of them %+v", len(got), last)
	}
}
