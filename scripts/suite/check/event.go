package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"floe/scripts/suite/history"
)

// Sent is one event as its publisher sent it: one line of published.jsonl.
type Sent struct {
	// Publisher is one publisher's connection: order holds within it.
	Publisher string `json:"pub"`
	Seq       uint64 `json:"seq"`
	Topic     string `json:"topic"`
	Cost      int32  `json:"cost"`
	Node      string `json:"node"`
	// Mode is twoway or oneway.
	Mode string `json:"mode"`
	// Outcome is OK once the node has surely taken the event, Fail where it
	// never left, else Info.
	Outcome history.Type `json:"t"`
	// Start and End are in nanoseconds of the run.
	Start int64 `json:"ns"`
	End   int64 `json:"end"`
}

// Got is one delivery: one line of delivered.jsonl.
type Got struct {
	Time       int64  `json:"ns"`
	Subscriber string `json:"sub"`
	// Topic is what the subscriber subscribed to, Origin where the event
	// says it was published.
	Topic     string `json:"topic"`
	Origin    string `json:"origin"`
	Publisher string `json:"pub"`
	Seq       uint64 `json:"seq"`
	// Cost is what the payload says, Context the context's entry.
	Cost    int32  `json:"cost"`
	Context string `json:"ctx"`
}

// Subscriber is one subscription that stood during the whole run.
type Subscriber struct {
	Name    string `json:"name"`
	Topic   string `json:"topic"`
	Node    string `json:"node"`
	Ordered bool   `json:"ordered"`
}

// Fault is when a fault was active and whom it struck.
type Fault struct {
	Kind  string   `json:"kind"`
	Nodes []string `json:"nodes"`
	// Apart tells that a partition cut the nodes from one another as well.
	Apart bool  `json:"apart,omitempty"`
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
	// Held is when it was there for certain: from when all of it was done to
	// when it began to be undone.
	Held Span `json:"held"`
	// Damage is what came of damage to a file, nil where none was done.
	Damage *Damage `json:"damage,omitempty"`
}

// EventRun is all that is known about the events of a run, during which the
// links did not change.
type EventRun struct {
	Links       map[string]int32 // FROM>TO to cost
	Subscribers []Subscriber
	Sent        []Sent
	Got         []Got
	Faults      []Fault
	// QuietFrom is when all faults were over and the nodes back; what was
	// taken from then on may not be lost. 0: no such time came.
	QuietFrom int64
}

// EventResult is what the event checker found.
type EventResult struct {
	Verdicts []Verdict `json:"-"`
	// Sent counts events, Taken those surely taken by a node.
	Sent  int `json:"sent"`
	Taken int `json:"taken"`
	// Got counts deliveries, Expected those due of events taken.
	Got      int `json:"deliveries"`
	Expected int `json:"expected"`
	// Delay is from when an event was sent to its delivery, for events sent
	// while there were faults and for those sent afterwards.
	Delay map[string]Spread `json:"delay"`
	// Lost counts missing deliveries of events taken, by the fault that was
	// active near them; "none" where there was none.
	Lost map[string]int `json:"lost"`
	// LostInCalm counts those lost while there was no fault.
	LostInCalm int `json:"lost_without_fault"`
}

type eventID struct {
	publisher string
	seq       uint64
}

type delivery struct {
	eventID
	subscriber string
}

// Events checks E1, E2, E3, E7 and E8.
func Events(run EventRun) EventResult {
	c := newEventChecker(run)
	c.deliveries()
	c.order()
	c.losses()
	c.delays()
	for _, v := range []*Verdict{c.once, c.lossless, c.ordered, c.hops, c.costs, c.whole} {
		c.result.Verdicts = append(c.result.Verdicts, *v)
	}
	return c.result
}

type eventChecker struct {
	run         EventRun
	result      EventResult
	sent        map[eventID]Sent
	subscribers map[string]Subscriber
	count       map[delivery]int

	once, lossless, ordered, hops, costs, whole *Verdict
}

func newEventChecker(run EventRun) *eventChecker {
	c := &eventChecker{run: run, sent: map[eventID]Sent{}, subscribers: map[string]Subscriber{}, count: map[delivery]int{},
		once:     newVerdict("E1 no event reaches a subscriber twice"),
		lossless: newVerdict("E2 no event is lost while there is no fault"),
		ordered:  newVerdict("E3 ordered subscribers see each publisher's order"),
		hops:     newVerdict("E7 no event crosses more than one link"),
		costs:    newVerdict("E8 links let pass what their cost allows and nothing else"),
		whole:    newVerdict("E4 events arrive as they were sent"),
		result:   EventResult{Lost: map[string]int{}, Delay: map[string]Spread{}, Sent: len(run.Sent), Got: len(run.Got)},
	}
	for _, s := range run.Sent {
		c.sent[eventID{s.Publisher, s.Seq}] = s
	}
	for _, s := range run.Subscribers {
		c.subscribers[s.Name] = s
	}
	for _, v := range []*Verdict{c.once, c.hops, c.costs, c.whole} {
		v.Checked = fmt.Sprintf("%d deliveries of %d events", len(run.Got), len(run.Sent))
	}
	return c
}

// deliveries looks at each delivery by itself.
func (c *eventChecker) deliveries() {
	for _, g := range c.run.Got {
		id := eventID{g.Publisher, g.Seq}
		d := delivery{id, g.Subscriber}
		c.count[d]++
		if n := c.count[d]; n == 2 {
			c.once.breach("%s got event %s/%d of %s more than once", g.Subscriber, g.Publisher, g.Seq, g.Origin)
		}
		c.route(g)
		c.same(g, id)
	}
}

// route checks the way an event took: none, or one link that lets it pass.
func (c *eventChecker) route(g Got) {
	if g.Topic == g.Origin {
		return
	}
	cost, linked := c.run.Links[g.Origin+">"+g.Topic]
	if !linked {
		c.hops.breach("%s on %s got event %s/%d published on %s, which has no link there", g.Subscriber, g.Topic, g.Publisher, g.Seq, g.Origin)
		return
	}
	if !passes(cost, g.Cost) {
		c.costs.breach("%s got event %s/%d of cost %d over link %s>%s of cost %d", g.Subscriber, g.Publisher, g.Seq, g.Cost, g.Origin, g.Topic, cost)
	}
}

// passes is rule 2 of the topic graph, written down a second time on purpose.
func passes(link, event int32) bool {
	if link == 0 {
		return true
	}
	return event <= link
}

// same compares a delivery with what was sent.
func (c *eventChecker) same(g Got, id eventID) {
	s, known := c.sent[id]
	switch {
	case !known:
		c.whole.breach("%s got event %s/%d, which nobody sent", g.Subscriber, g.Publisher, g.Seq)
	case s.Topic != g.Origin || s.Cost != g.Cost:
		c.whole.breach("%s got event %s/%d as %s cost %d, sent was %s cost %d", g.Subscriber, g.Publisher, g.Seq, g.Origin, g.Cost, s.Topic, s.Cost)
	case g.Context != fmt.Sprint(s.Cost) && (g.Context != "" || s.Cost != 0): // cost 0 may go without an entry
		c.whole.breach("%s got event %s/%d with context cost %q, sent was %d", g.Subscriber, g.Publisher, g.Seq, g.Context, s.Cost)
	}
}

// order checks that ordered subscribers see rising numbers from each publisher
// on each topic; gaps are allowed. What counts is when a delivery came, not when
// it was written down: after a cut two connections may deliver at once.
func (c *eventChecker) order() {
	type stream struct{ subscriber, publisher, origin string }
	last := map[stream]uint64{}
	looked := 0
	came := slices.Clone(c.run.Got)
	slices.SortStableFunc(came, func(a, b Got) int { return cmp.Compare(a.Time, b.Time) })
	for _, g := range came {
		if !c.subscribers[g.Subscriber].Ordered {
			continue
		}
		looked++
		k := stream{g.Subscriber, g.Publisher, g.Origin}
		if g.Seq < last[k] {
			c.ordered.breach("%s got event %s/%d of %s after %d", g.Subscriber, g.Publisher, g.Seq, g.Origin, last[k])
		}
		last[k] = max(last[k], g.Seq)
	}
	c.ordered.Checked = fmt.Sprintf("%d deliveries in %d streams", looked, len(last))
}

// losses counts what was taken and never arrived.
func (c *eventChecker) losses() {
	quiet, missing := 0, 0
	for _, s := range c.run.Sent {
		if s.Outcome != history.OK {
			continue
		}
		c.result.Taken++
		calm := c.run.QuietFrom > 0 && s.Start >= c.run.QuietFrom
		for _, sub := range c.run.Subscribers {
			if !c.expects(sub, s) {
				continue
			}
			c.result.Expected++
			arrived := c.count[delivery{eventID{s.Publisher, s.Seq}, sub.Name}] > 0
			if calm {
				quiet++
			}
			if arrived {
				continue
			}
			missing++
			c.result.Lost[c.cause(s, sub)]++
			if calm {
				c.result.LostInCalm++
				c.lossless.breach("%s on %s never got event %s/%d of %s, cost %d, published %s through %s", sub.Name, sub.Topic, s.Publisher, s.Seq, s.Topic, s.Cost, s.Mode, s.Node)
			}
		}
	}
	if quiet == 0 {
		c.lossless.breach("no event was taken while there was no fault")
	}
	c.lossless.Checked = fmt.Sprintf("%d deliveries due without a fault; of all %d due, %d lost", quiet, c.result.Expected, missing)
}

// delays works out how long deliveries took.
func (c *eventChecker) delays() {
	all := map[string][]time.Duration{}
	for _, g := range c.run.Got {
		s, known := c.sent[eventID{g.Publisher, g.Seq}]
		if !known {
			continue
		}
		phase := "during faults"
		if c.run.QuietFrom > 0 && s.Start >= c.run.QuietFrom {
			phase = "after them"
		}
		all[phase] = append(all[phase], time.Duration(g.Time-s.Start))
	}
	for phase, list := range all {
		c.result.Delay[phase] = spread50(list)
	}
}

// expects says whether a subscriber is due to get an event.
func (c *eventChecker) expects(sub Subscriber, s Sent) bool {
	if sub.Topic == s.Topic {
		return true
	}
	cost, linked := c.run.Links[s.Topic+">"+sub.Topic]
	return linked && passes(cost, s.Cost)
}

// shadow is how long before or after a fault a loss is laid at its door.
const shadow = 2_000_000_000

// ending are the kinds of fault that end a node with what it has queued, when they
// begin or when they end.
var ending = []string{"kill", "power", "move", "diskfull", "diskerror", "damage", "churn"}

// takesDown tells whether the nodes are down from when the fault is there until it
// begins to be undone.
func (f Fault) takesDown() bool { return slices.Contains([]string{"kill", "power", "move"}, f.Kind) }

// losesData tells whether a node may begin anew with nothing after the fault.
func (f Fault) losesData() bool { return f.Kind == "churn" || f.Kind == "damage" }

// cause names the kind of fault that struck the publisher's node or the
// subscriber's around the time of an event, or else a later end of the
// publisher's node, in whose queue the event may have waited.
func (c *eventChecker) cause(s Sent, sub Subscriber) string {
	backlog := "none"
	for _, f := range c.run.Faults {
		if s.Start > f.End+shadow || !slices.Contains(f.Nodes, s.Node) && !slices.Contains(f.Nodes, sub.Node) {
			continue
		}
		if s.End >= f.Start-shadow {
			return f.Kind
		}
		if slices.Contains(ending, f.Kind) && slices.Contains(f.Nodes, s.Node) {
			backlog = f.Kind + ", later"
		}
	}
	return backlog
}
