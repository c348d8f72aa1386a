package peers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Subscriber is a running subscriber.
type Subscriber struct {
	*Process
	// Endpoints is where it listens.
	Endpoints string
}

// Subscribe starts a subscriber and waits until it has subscribed. Topic may be several, cut by commas. The arguments
// are those of icepeer subscribe, or of py/subscriber.py: "--mode", "oneway", "--identity", "s1".
func Subscribe(t testing.TB, s Service, l Language, topic string, args ...string) *Subscriber {
	t.Helper()
	path, all := command(t, l, "subscribe", s)
	all = append(all, "--topic", topic, "--until-eof")
	p := &Subscriber{Process: start(t, path, append(all, args...)...)}
	p.Endpoints = p.WaitLine("ready")
	return p
}

// Events returns the events printed so far.
func (s *Subscriber) Events() []Event {
	s.t.Helper()
	var out []Event
	for _, line := range s.Lines() {
		if !strings.HasPrefix(line, "event ") {
			continue
		}
		e, err := parseEvent(line)
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// WaitEvents blocks until n events have come and returns all there are; the test fails as with [Process.WaitFor].
func (s *Subscriber) WaitEvents(n int) []Event {
	s.t.Helper()
	count, judged := 0, 0
	s.WaitFor(fmt.Sprintf("%d events", n), func(lines []string) bool {
		for _, line := range lines[judged:] {
			if strings.HasPrefix(line, "event ") {
				count++
			}
		}
		judged = len(lines)
		return count >= n
	})
	return s.Events()
}

// Behave changes what a C++ subscriber does with its events ("hang", "slow:20", "ok"), from now on.
func (s *Subscriber) Behave(behaviour string) {
	s.t.Helper()
	line := "behaviour " + behaviour
	before := countLine(s.Lines(), line)
	s.Send(line)
	s.WaitFor(line, func(lines []string) bool { return countLine(lines, line) > before })
}

func countLine(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// Summary ends the subscriber, if it hasn't ended, and returns its figures of the topic.
func (s *Subscriber) Summary(topic string) Summary {
	s.t.Helper()
	s.Stop()
	lines := s.Lines()
	i := slices.IndexFunc(lines, func(l string) bool { return summaryOf(l) == topic })
	if i < 0 {
		s.t.Fatalf("no summary of %q; it said:\n%s", topic, s.said())
	}
	return parseSummary(lines[i])
}
