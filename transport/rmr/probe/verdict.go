package probe

import (
	"slices"
	"time"

	"floe/fsm"
)

// report is what one node holds of the members.
type report struct {
	// Dead are those that do not answer.
	Dead []string `json:"dead"`
	// Settled tells that all were asked often enough.
	Settled bool `json:"settled"`
}

type heard struct {
	report
	at time.Time
}

// fresh is how long a report counts. A new leader waits as long before it
// takes for granted that who did not report does not look.
const fresh = 3 * time.Second

// judge is the leader's part: reports in, what to withdraw and take back out.
type judge struct {
	since   time.Time // when this node began to lead
	reports map[string]heard
}

// complete tells whether the reports of all who look can have come.
func (j *judge) complete(now time.Time) bool { return now.Sub(j.since) >= fresh }

// decide compares the reports with what is withdrawn. most tells that more
// than half of the members seem dead, so that none was added. While reports can be
// missing, two that agree are enough to withdraw a member; none is taken back.
func (j *judge) decide(m *members, withdrawn []string, now time.Time) (op fsm.SetProbed, most bool) {
	votes, looking := map[string]int{}, 0
	for node, r := range j.reports {
		if now.Sub(r.at) > fresh {
			delete(j.reports, node)
			continue
		}
		if !r.Settled {
			continue
		}
		looking++
		for _, e := range r.Dead {
			votes[e]++
		}
	}
	complete := j.complete(now)
	if looking == 0 && len(j.reports) > 0 || looking < 2 && !complete {
		return fsm.SetProbed{}, false
	}
	dead, count := map[string]bool{}, 0
	for _, e := range m.endpoints {
		if looking > 0 && votes[e] >= min(2, looking) {
			dead[e] = true
			count++
		}
	}
	for _, e := range withdrawn {
		if complete && !dead[e] {
			op.Alive = append(op.Alive, e)
		}
	}
	if 2*count > len(m.endpoints) {
		return op, true
	}
	for _, e := range m.sparing(dead) {
		if !slices.Contains(withdrawn, e) {
			op.Dead = append(op.Dead, e)
		}
	}
	return op, false
}
