package http

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"floe/fsm"
	"floe/routing"
	"floe/topics"
	"floe/transport/http/api"
	"floe/transport/http/script"
)

// Natives knows who listens natively; *native.Native does.
type Natives interface {
	// Interest returns how many subscribers of this node want a topic, and
	// the other nodes that have some.
	Interest(topic topics.ID) (here int, nodes []string)
}

// traceTopic says what would become of an event.
func (s *Server) traceTopic(ctx context.Context, r *http.Request) (any, error) {
	name, err := param(r, "topic")
	if err != nil {
		return nil, err
	}
	cost, text, err := eventCost(r)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	t := v.Graph.Topic(name)
	if t == nil {
		return nil, noTopic(name)
	}
	trace := &topicTrace{server: s, view: v, figures: s.figures(), out: api.TopicTrace{
		Topic: name, Cost: cost, Node: s.config.Nodes.ID(), Receivers: []api.TraceReceiver{}, Links: []api.TraceLink{}, Native: []api.TraceNative{},
	}}
	trace.why("the event costs %d%s", cost, text)
	trace.topic(t, "")
	for _, hop := range v.Graph.Plan(t.ID).Hops {
		trace.hop(t, hop)
	}
	if len(trace.out.Receivers)+len(trace.out.Native) == 0 {
		trace.why("nobody gets it")
	}
	return trace.out, nil
}

// eventCost reads what an event's context says of its cost, and how that was
// read where it is no plain number.
func eventCost(r *http.Request) (cost int32, how string, err error) {
	text := ""
	for _, pair := range r.URL.Query()["context"] {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return 0, "", refuse(api.BadRequest, fmt.Sprintf("the parameter \"context\" is %q, not KEY=VALUE", pair))
		}
		if key == "cost" {
			text = value
		}
	}
	if r.URL.Query().Has("cost") {
		text = r.URL.Query().Get("cost")
		if _, err := number("cost", text); err != nil {
			return 0, "", err
		}
	}
	cost = topics.ParseCost([]byte(text))
	switch {
	case text == "":
		how = ", as its context has no cost"
	case text != fmt.Sprint(cost):
		how = fmt.Sprintf(": so %q is read", text)
	}
	return cost, how, nil
}

// topicTrace is a trace being made.
type topicTrace struct {
	server  *Server
	view    *fsm.View
	figures receiverFigures
	out     api.TopicTrace
}

func (t *topicTrace) why(format string, args ...any) {
	t.out.Why = append(t.out.Why, fmt.Sprintf(format, args...))
}

// hop adds one link of the topic.
func (t *topicTrace) hop(from *topics.Topic, h topics.Hop) {
	to, remote := LinkName(t.view, h.Link)
	link := api.TraceLink{To: to, Remote: remote, Cost: h.Link.Cost, Passes: topics.Passes(h.Link.Cost, t.out.Cost)}
	t.out.Links = append(t.out.Links, link)
	shown := shownTarget(to, remote)
	switch {
	case !link.Passes:
		t.why("the link to %s holds it: its cost %d is lower", shown, link.Cost)
		return
	case link.Cost == 0:
		t.why("the link to %s lets it pass: its cost 0 lets all pass", shown)
	default:
		t.why("the link to %s lets it pass: its cost %d is not lower", shown, link.Cost)
	}
	if h.Target != nil {
		t.topic(h.Target, "  ")
		if n := len(h.Target.Links); n > 0 {
			t.why("  it crosses none of the %s of %s: an event crosses one link at most", api.Plural(n, "link"), shown)
		}
		return
	}
	if remote := h.Link.Remote; remote != nil && remote.Messages != nil {
		t.message(*remote.Messages)
	}
	t.receiver("  ", otherEnd(h.Link.Remote), api.TraceReceiver{Topic: to, Figures: t.figures.receiver(from, h.Link.Serial)})
}

// message says where a message goes that the event leaves as; its MEID, the
// context entry meid, is not known here.
func (t *topicTrace) message(to topics.Messages) {
	found := find(t.view, routing.Query{MType: to.MType, SubID: to.SubID})
	if found.Reason == string(routing.UnknownMEID) {
		t.why("  the message goes to the owner of the MEID that the context entry meid names")
		return
	}
	for _, line := range found.Why {
		t.why("  %s", line)
	}
	if found.Reason != "" {
		t.why("  the message goes nowhere: %s", found.Reason)
	}
}

func shownTarget(to, remote string) string {
	if remote == "" {
		return script.QuoteTopic(to)
	}
	return to
}

// otherEnd names who takes an event that leaves the cluster.
func otherEnd(r *topics.Remote) string {
	if r != nil && r.Messages != nil {
		return "the relay of this node"
	}
	return "the other end"
}

// topic adds the subscribers of a topic that the event comes to.
func (t *topicTrace) topic(of *topics.Topic, indent string) {
	name := script.QuoteTopic(of.Name)
	if len(of.Subscriptions) == 0 {
		t.why("%s%s has no subscribers", indent, name)
	}
	for i := range of.Subscriptions {
		sub := &of.Subscriptions[i]
		id := identityText(sub.Identity)
		t.receiver(indent, "subscriber "+id+" of "+name, api.TraceReceiver{Topic: of.Name, Identity: id, Figures: t.figures.receiver(of, sub.Serial)})
	}
	if t.server.config.Natives == nil {
		return
	}
	here, nodes := t.server.config.Natives.Interest(of.ID)
	if here > 0 {
		t.out.Native = append(t.out.Native, api.TraceNative{Topic: of.Name, Node: t.out.Node, Subscribers: here})
		t.why("%s%s has %s on this node", indent, name, api.Plural(here, "native subscriber"))
	}
	for _, node := range nodes {
		t.out.Native = append(t.out.Native, api.TraceNative{Topic: of.Name, Node: node})
		t.why("%s%s has native subscribers on node %s, which gets one copy", indent, name, node)
	}
}

// receiver adds who gets the event, with how that went so far.
func (t *topicTrace) receiver(indent, who string, r api.TraceReceiver) {
	t.out.Receivers = append(t.out.Receivers, r)
	t.why("%s%s gets it%s", indent, who, soFar(r.Figures))
}

// soFar says how a receiver does, nothing where all is well.
func soFar(f *api.Figures) string {
	if f == nil {
		return ""
	}
	text := ""
	if f.State == "retrying" || f.State == "removing" {
		text = fmt.Sprintf(" once it can be reached: it is %s, and %s", f.State, cmp.Or(f.LastError, "waits"))
	}
	if f.Queued > 0 {
		text += fmt.Sprintf("; %d queued before it", f.Queued)
	}
	for _, reason := range slices.Sorted(maps.Keys(f.Dropped)) {
		text += fmt.Sprintf("; %d dropped so far: %s", f.Dropped[reason], reason)
	}
	return text
}
