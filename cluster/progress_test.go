package cluster

import (
	"testing"
	"time"
)

// TestProgress: what a follower that hears of commit indexes says it lacks.
func TestProgress(t *testing.T) {
	type heard struct {
		after  time.Duration // the start
		commit uint64
	}
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		heard   []heard
		now     time.Duration
		applied uint64
		want    string
	}{
		"just started":              {nil, 900 * ms, 0, ""},
		"nothing heard for long":    {nil, 1200 * ms, 0, "it took none of its changes for 1.2s"},
		"behind for a moment":       {[]heard{{0, 5}, {600 * ms, 9}}, 700 * ms, 5, ""},
		"behind for longer":         {[]heard{{0, 5}, {600 * ms, 9}, {1200 * ms, 12}}, 1300 * ms, 8, "it is 4 entries behind"},
		"as far as it was then":     {[]heard{{0, 5}, {600 * ms, 9}, {1200 * ms, 12}}, 1300 * ms, 9, ""},
		"the first after a silence": {[]heard{{0, 5}, {5 * time.Second, 900}}, 5010 * ms, 6, "it is 894 entries behind"},
		"caught up after a silence": {[]heard{{0, 5}, {5 * time.Second, 900}}, 5010 * ms, 900, ""},
		"many in a moment":          {[]heard{{0, 5}, {10 * ms, 6}, {20 * ms, 90}, {30 * ms, 120}}, 40 * ms, 5, ""},
		"an older leader's":         {[]heard{{0, 50}, {600 * ms, 40}, {1200 * ms, 40}}, 1300 * ms, 45, "it is 5 entries behind"},
		"quiet, and up to date":     {[]heard{{0, 5}, {900 * ms, 5}, {1800 * ms, 5}, {2700 * ms, 5}}, 2800 * ms, 5, ""},
	} {
		p := newProgress(LAN)
		start := p.heard
		for _, h := range test.heard {
			p.hear(start.Add(h.after), h.commit)
		}
		got := ""
		if err := p.lag(start.Add(test.now), test.applied); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
