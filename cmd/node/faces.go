package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/cluster"
	"floe/fsm"
	"floe/transport/http"
	"floe/transport/http/api"
	"floe/transport/native"
)

// nodesFace is membership as the HTTP face wants it.
type nodesFace struct{ *node }

// ID returns the node's id.
func (f nodesFace) ID() string { return f.cluster.ID() }

// Members lists the nodes.
func (f nodesFace) Members(ctx context.Context) []api.Member {
	view := f.cluster.View()
	out := []api.Member{}
	for _, m := range f.cluster.Members(ctx) {
		out = append(out, memberValue(view, m))
	}
	return out
}

func memberValue(v *fsm.View, m cluster.MemberInfo) api.Member {
	recorded, _ := v.Member(m.ID)
	return api.Member{
		ID: m.ID, Address: m.Address, Role: m.Role, Voter: m.Voter, Version: m.Version, Draining: m.Draining, Addresses: recorded.Addresses,
	}
}

// Status looks at this node and the others.
func (f nodesFace) Status(ctx context.Context) api.Status {
	var by map[string]api.NodeReport
	var failed map[string]error
	var asking sync.WaitGroup
	asking.Go(func() { by, failed = askOthers[api.NodeReport](ctx, f.node, reportMethod) })
	st := f.cluster.Status(ctx)
	asking.Wait()
	view := f.cluster.View()
	out := api.Status{
		ClusterID: st.ClusterID, Node: st.Node, Leader: st.Leader, Term: st.Term, AppliedIndex: st.AppliedIndex, Digest: st.Digest,
		Members: []api.Member{}, Problems: []string{}, ContactAge: -1, Version: programVersion(), ClusterVersion: st.Version,
		Instance: view.Graph.Instance(), Topics: view.Graph.Len(), Listeners: f.listening, Plain: f.options.plainRanges(), IceAllow: f.options.access.String(), RMRAllow: f.options.messages.String(), Data: f.options.text("data"),
		UptimeSeconds: time.Since(f.started).Seconds(), Certificate: f.certificate(),
	}
	for _, m := range st.Members {
		out.Members = append(out.Members, memberValue(view, m))
		if m.ID == st.Node {
			out.Role = m.Role
		}
	}
	out.CommitIndex = f.cluster.Figures().CommitIndex
	if age := f.ContactAge(); age >= 0 {
		out.ContactAge = age.Seconds()
	}
	out.Problems = append(append(append(out.Problems, st.Problems...), f.hub.Problems()...), f.problems()...)
	f.addReports(&out, st.Members, by, failed)
	return out
}

// Ready says why this node has not caught up with a leader, nil if it has.
func (f nodesFace) Ready() error { return f.cluster.Ready() }

// ContactAge is how long ago the leader was heard; negative: never.
func (f nodesFace) ContactAge() time.Duration {
	age, ever := f.cluster.LastContact()
	if !ever {
		return -1
	}
	return age
}

// Join enters another cluster through the first address that takes it.
func (f nodesFace) Join(ctx context.Context, addresses []string, token string) error {
	if token != "" {
		f.cluster.UseJoinToken(token)
	}
	var failed error
	for _, a := range addresses {
		err := f.cluster.Join(ctx, a)
		switch {
		case err == nil:
			return nil
		case failed == nil:
			failed = err
		default:
			failed = fmt.Errorf("%w; %w", failed, err)
		}
	}
	return failed
}

// Leave leaves the cluster and ends the process.
func (f nodesFace) Leave(ctx context.Context) error {
	err := f.cluster.Leave(ctx)
	if err == nil {
		f.leftCluster()
	}
	return err
}

// Remove removes a node.
func (f nodesFace) Remove(ctx context.Context, id string, force bool) error {
	_, err := f.cluster.Remove(ctx, id, force)
	if err == nil && id == f.cluster.ID() {
		f.leftCluster()
	}
	return err
}

// Transfer hands leadership over.
func (f nodesFace) Transfer(ctx context.Context, id string) error { return f.cluster.Transfer(ctx, id) }

// Drain lets go of leadership, connections and queues, or takes part again.
func (f nodesFace) Drain(ctx context.Context, undo bool) error {
	f.face.Drain(!undo)
	f.manager.Drain(ctx, undo)
	if err := f.cluster.Drain(ctx, undo); err != nil || undo {
		return err
	}
	if left := f.hub.Drain(ctx); left > 0 {
		return &api.Error{Kind: api.Timeout, Message: fmt.Sprintf("drained but for %d events of subscribers that can't be reached", left)}
	}
	return nil
}

// eventsFace is native publishing as the HTTP face wants it.
type eventsFace struct{ native *native.Native }

// Publish publishes one event.
func (f eventsFace) Publish(ctx context.Context, p api.Publish) error {
	err := f.native.Publish(ctx, p.Topic, native.Message{Operation: p.Operation, Context: p.Context, Data: p.Data, Text: p.AsString})
	var large *native.TooLarge
	var invalid *native.Invalid
	switch {
	case errors.As(err, &large):
		return &api.Error{Kind: api.TooLarge, Message: err.Error()}
	case errors.As(err, &invalid):
		return &api.Error{Kind: api.BadRequest, Message: err.Error()}
	}
	return err
}

// Subscribe subscribes to topics.
func (f eventsFace) Subscribe(ctx context.Context, topics []string) (http.Stream, error) {
	s, err := f.native.Subscribe(ctx, topics)
	if err != nil {
		return nil, err
	}
	return stream{s}, nil
}

type stream struct{ *native.Subscriber }

// Next returns the next line.
func (s stream) Next(ctx context.Context) (api.Event, error) {
	line, err := s.Subscriber.Next(ctx)
	if err != nil {
		return api.Event{}, err
	}
	ev := api.Event{Missed: line.Missed, Gap: line.Gap}
	if r := line.Event; r != nil {
		ev.Received = &api.Received{Topic: r.Topic, Operation: r.Operation, Cost: r.Cost, Context: r.Context, Data: r.Data, Encapsulation: r.Encapsulation}
	}
	return ev, nil
}

// settingsFace changes what can be changed while the node runs.
type settingsFace struct{ *node }

// live are the settings that can be changed.
var live = []string{"log-level", "queue-events", "queue-bytes", "queue-policy"}

// List returns them with their values.
func (f settingsFace) List() []api.Setting {
	f.settings.Lock()
	defer f.settings.Unlock()
	out := make([]api.Setting, len(live))
	for i, name := range live {
		out[i] = api.Setting{Name: name, Value: f.options.text(name)}
	}
	return out
}

// Set changes one.
func (f settingsFace) Set(s api.Setting) error {
	f.settings.Lock()
	defer f.settings.Unlock()
	known := false
	for _, name := range live {
		known = known || name == s.Name
	}
	if !known {
		return fmt.Errorf("%s is none of the settings that can be changed while a node runs: %s%s", strconv.Quote(s.Name), strings.Join(live, ", "), didYouMean(s.Name, slices.Values(live)))
	}
	if err := f.options.flags.Lookup(s.Name).Value.Set(s.Value); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if s.Name == "log-level" {
		f.log.SetLevel(hclog.LevelFromString(s.Value))
	} else {
		f.hub.SetQueue(queueLimits(f.options.number("queue-events"), f.options.size("queue-bytes"), f.options.text("queue-policy")))
	}
	f.log.Info("setting changed until the node stops", "setting", s.Name, "value", s.Value)
	return nil
}
