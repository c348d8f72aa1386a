package relay

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"floe/transport/rmr/proto"
)

// typeAlarm is the message by which the library says that it drops messages,
// as its application does not take them (RIC_ALARM in
// src/rmr/common/include/RIC_message_types.h). It goes to the alarm manager that
// the application's environment names, with or without a route.
const typeAlarm = 110

// maxAlarms is how many applications' alarms are remembered, maxAlarmText how
// many bytes of what one says.
const (
	maxAlarms    = 1000
	maxAlarmText = 200
)

// Alarm is what an application said last about messages that it drops.
type Alarm struct {
	// Source is who said so, HOST:PORT; the port is not that of its messages.
	Source string
	// Text is what it said, in its words.
	Text string
	// Raised is false once it said that the trouble is over.
	Raised bool
	// Times is how often it raised an alarm.
	Times uint64
	// At is when it was heard last.
	At time.Time
}

// alarms are the latest of each application.
type alarms struct {
	mu sync.Mutex
	by map[string]*Alarm
}

// note takes an alarm message. What is none is left alone.
func (a *alarms) note(m *proto.Message, now time.Time) {
	var body struct {
		Text   string `json:"identifyingInfo"`
		Action string `json:"AlarmAction"`
	}
	source := string(m.Src)
	if json.Unmarshal(m.Payload, &body) != nil || source == "" || !utf8.ValidString(source) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.by[source]
	if was == nil {
		if len(a.by) >= maxAlarms {
			return
		}
		was = &Alarm{Source: source}
		if a.by == nil {
			a.by = map[string]*Alarm{}
		}
		a.by[source] = was
	}
	was.Raised, was.At = body.Action != "CLEAR", now
	if was.Raised {
		was.Times++
		was.Text = strings.ToValidUTF8(body.Text[:min(len(body.Text), maxAlarmText)], "")
	}
}

// list returns all of them, sorted by source.
func (a *alarms) list() []Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Alarm, 0, len(a.by))
	for _, one := range a.by {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Alarm) int { return strings.Compare(a.Source, b.Source) })
	return out
}
