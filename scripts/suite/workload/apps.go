package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"floe/scripts/rmrapp"
	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/rmr/proto"
)

// Apps are RMR applications beside the nodes: for each node a sender, which
// asks that node for its table, and sinks of either side and of MEIDs.
type Apps struct {
	Log *history.Log
	// Messages is the log of what was sent and arrived.
	Messages *history.Log
	Nodes    []Node
	Seed     uint64
	// Routes and MEIDs say which messages are sent.
	Routes, MEIDs bool

	senders []*rmrapp.App
	sinks   map[string][]*rmrapp.App // by side; "M" for MEIDs
	sides   check.Sinks
	number  atomic.Uint64
}

// sendPace is how often each sender sends a message of each kind, at most.
const sendPace = 150 * time.Millisecond

// Start starts the applications. The nodes are up.
func (a *Apps) Start() error {
	a.sinks, a.sides = map[string][]*rmrapp.App{}, check.Sinks{}
	for _, n := range a.Nodes {
		for _, side := range []string{"A", "B", "M"} {
			sink, err := rmrapp.Start(a.config(n, func(_ *rmrapp.App, r *rmrapp.Received) { a.arrived(n, side, &r.Message) }))
			if err != nil {
				return fmt.Errorf("sink beside %s: %w", n.Name, err)
			}
			a.sinks[side] = append(a.sinks[side], sink)
			a.sides[sink.ID()] = side
		}
		c := a.config(n, nil)
		c.RouteManager, c.Every = n.RTG, time.Second
		sender, err := rmrapp.Start(c)
		if err != nil {
			return fmt.Errorf("sender beside %s: %w", n.Name, err)
		}
		a.senders = append(a.senders, sender)
	}
	return nil
}

func (a *Apps) config(n Node, handle func(*rmrapp.App, *rmrapp.Received)) rmrapp.Config {
	return rmrapp.Config{Listen: n.host() + ":0", Control: n.host() + ":0", Within: n.Within, Handle: handle}
}

// Sinks maps endpoints to sides.
func (a *Apps) Sinks() check.Sinks { return a.sides }

func (a *Apps) endpoints(side string) []string {
	var out []string
	for _, s := range a.sinks[side] {
		out = append(out, s.ID())
	}
	return out
}

// owners are the endpoints that own MEIDs.
func (a *Apps) owners() []string { return a.endpoints("M") }

// Run sends until ctx ends.
func (a *Apps) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i, n := range a.Nodes {
		for j, kind := range []struct {
			via     string
			by      bool
			message func(*rand.Rand) proto.Message
		}{
			{check.ByTable, a.Routes, routed},
			{check.ByNode, a.Routes, routed},
			{check.ByNode, a.MEIDs, toOwner},
		} {
			if kind.by {
				r := stream(a.Seed, 6000+3*i+j)
				all.Go(func() { pace(ctx, sendPace, func() { a.send(ctx, n, a.senders[i], kind.via, kind.message(r)) }) })
			}
		}
	}
}

func routed(r *rand.Rand) proto.Message {
	return proto.Message{Type: int32(check.FirstRoute + r.IntN(check.RouteCount)), SubID: proto.NoSubID}
}

func toOwner(r *rand.Rand) proto.Message {
	return proto.Message{Type: check.ByMEID, SubID: proto.NoSubID, MEID: []byte(movedMEID(r.IntN(moved)))}
}

// send sends a message by the sender's own table, or has the node forward it.
func (a *Apps) send(ctx context.Context, n Node, from *rmrapp.App, via string, m proto.Message) {
	if via == check.ByTable && !from.Ready() {
		return
	}
	s := check.Message{Number: a.number.Add(1), Sent: true, Via: via, Node: n.Name, Type: m.Type, MEID: string(m.MEID), Time: a.Messages.Now()}
	m.Payload, _ = json.Marshal(s) // of a plain value: it can't fail
	a.Messages.Write(s)
	if via == check.ByTable {
		from.Send(ctx, m) // what does not go out does not arrive
		return
	}
	_ = from.SendTo(ctx, n.RMR, m)
}

// arrived writes down a message that came to a sink.
func (a *Apps) arrived(n Node, side string, m *proto.Message) {
	now := a.Messages.Now()
	var got check.Message
	if err := json.Unmarshal(m.Payload, &got); err != nil {
		got = check.Message{} // nobody sent it: the checker says so
	}
	got.SentAt = got.Time
	got.Sent, got.Side, got.Sink, got.Time = false, side, n.Name, now
	a.Messages.Write(got)
}

// SinkNodes maps the endpoints of MEID sinks to their nodes.
func (a *Apps) SinkNodes() map[string]string {
	out := map[string]string{}
	for i, s := range a.sinks["M"] {
		out[s.ID()] = a.Nodes[i].Name
	}
	return out
}

// Finish waits until all senders hold one table that is whole, or ctx ends,
// and writes down what each was given.
func (a *Apps) Finish(ctx context.Context) {
	for i, s := range a.senders {
		p := a.Log.Invoke("app-"+a.Nodes[i].Name, a.Nodes[i].Name, "app", s.ID(), nil)
		p.OK(a.await(ctx, s))
		for _, e := range s.History() {
			if e.Applied {
				v := &history.Value{Session: uint64(e.Incarnation)}
				_, _ = fmt.Sscanf(e.ID, "%d.", &v.Version) // 0 where it says none: the checker tells
				a.Log.Invoke("given-"+a.Nodes[i].Name, a.Nodes[i].Name, "given", s.ID(), nil).OK(v)
			}
		}
		for _, f := range s.Faults() {
			a.Log.Note("app", a.Nodes[i].Name, f.String(), nil)
		}
	}
}

// await reads an application's table until it is that of the others.
func (a *Apps) await(ctx context.Context, s *rmrapp.App) *history.Value {
	for {
		v := a.holds(s)
		same := !slices.ContainsFunc(a.senders, func(o *rmrapp.App) bool { return a.holds(o).Text != v.Text })
		if same || ctx.Err() != nil {
			return v
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// holds is the table that an application goes by.
func (a *Apps) holds(s *rmrapp.App) *history.Value {
	text, err := s.Text()
	if err != nil {
		return &history.Value{Mixed: err.Error()}
	}
	lines, owners := check.TableLines(text)
	v := &history.Value{Text: check.Sum(lines, owners), Owners: owners}
	v.Table, v.Mixed = a.sides.ReadTable(lines)
	return v
}

// Close ends the applications.
func (a *Apps) Close() {
	for _, s := range a.senders {
		s.Close()
	}
	for _, all := range a.sinks {
		for _, s := range all {
			s.Close()
		}
	}
}
