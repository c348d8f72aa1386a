package http

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

// partLimit is about how large the changes in one log entry of an import
// are, in bytes: half of what an entry holds.
const partLimit = fsm.MaxCommand / 2

// importIceStorm makes what an IceStorm holds here, too.
func (s *Server) importIceStorm(ctx context.Context, r *http.Request) (any, error) {
	var ask api.ImportIceStorm
	if err := decode(r, bulkLimit, &ask, "instance"); err != nil {
		return nil, err
	}
	for range applyTries {
		imported, err := s.importOnce(ctx, r, &ask)
		if !crossed(err) || imported.Index > 0 { // a part is made
			return imported, err
		}
	}
	return nil, refuse(api.Changed, "others kept changing the graph meanwhile; nothing was changed, try again")
}

func (s *Server) importOnce(ctx context.Context, r *http.Request, ask *api.ImportIceStorm) (api.Imported, error) {
	v, err := s.config.Group.Read(ctx)
	if err != nil {
		return api.Imported{}, err
	}
	p := &importPlan{view: v, made: map[string]bool{}, answer: api.Imported{Changes: []api.Change{}, Kept: []string{}, Applied: !ask.Check}}
	if err := p.compare(ask); err != nil {
		return api.Imported{}, err
	}
	parts, err := p.parts()
	if err != nil {
		return api.Imported{}, err
	}
	p.answer.Parts = len(parts)
	if ask.Check {
		p.answer.Index = v.Index
		return p.answer, nil
	}
	if len(parts) > 1 && !ask.Parts {
		return api.Imported{}, refuse(api.TooLarge, fmt.Sprintf("the import takes %d log entries and would not be one change: nothing was changed. With --parts it is made all the same; what an error in between leaves out is made by importing once more", len(parts)))
	}
	for i, part := range parts {
		result, err := s.propose(ctx, r, part)
		if err != nil && i > 0 {
			return p.answer, fmt.Errorf("part %d of %d, those before it were made: %w", i+1, len(parts), err)
		}
		if err != nil {
			return api.Imported{}, err
		}
		p.answer.Index = result.Index
	}
	p.answer.Index = max(p.answer.Index, v.Index)
	return p.answer, nil
}

// importPlan compares what an IceStorm holds with the graph as it stands.
type importPlan struct {
	view   *fsm.View
	made   map[string]bool // topics that the plan makes
	ops    []fsm.Op
	answer api.Imported
}

func (p *importPlan) compare(ask *api.ImportIceStorm) error {
	if own := p.view.Graph.Instance(); ask.Instance != own {
		return refuse(api.BadRequest, fmt.Sprintf("the IceStorm's instance is %q, this cluster's is %q, and programs ask for theirs by name: import into a cluster that was founded with --ice-instance %s", ask.Instance, own, ask.Instance))
	}
	for _, name := range ask.Topics {
		if err := topics.CheckName(name); err != nil {
			return err
		}
		if p.view.Graph.Topic(name) == nil && !p.made[name] {
			p.made[name] = true
			p.step(api.Change{Op: "create", From: name}, fsm.CreateTopic{Name: name})
		}
	}
	seen := map[string]bool{}
	for i := range ask.Receivers {
		if err := p.receiver(&ask.Receivers[i], seen); err != nil {
			return err
		}
	}
	return nil
}

func (p *importPlan) step(c api.Change, op fsm.Op) {
	p.answer.Changes = append(p.answer.Changes, c)
	p.ops = append(p.ops, op)
}

func (p *importPlan) keep(format string, args ...any) {
	p.answer.Kept = append(p.answer.Kept, fmt.Sprintf(format, args...))
}

// receiver adds a link or a subscriber unless the topic has that identity.
func (p *importPlan) receiver(r *api.ImportReceiver, seen map[string]bool) error {
	d := proto.NewDecoder(r.Proxy, proto.Encoding11)
	proxy := d.Proxy()
	if d.Err() != nil || d.Left() > 0 || proxy.IsNull() {
		return refuse(api.BadRequest, "a receiver of topic "+quote(r.Topic)+" has no proxy in encoding 1.1")
	}
	t := p.view.Graph.Topic(r.Topic)
	if t == nil && !p.made[r.Topic] {
		return noTopic(r.Topic)
	}
	key := quote(r.Topic) + proxy.Identity.String()
	if seen[key] {
		return refuse(api.BadRequest, "topic "+quote(r.Topic)+" is to have "+quote(proxy.Identity.String())+" twice")
	}
	seen[key] = true
	if t != nil && p.stands(t, r, &proxy) {
		return nil
	}
	if r.Link {
		return p.link(r, &proxy)
	}
	op := fsm.Subscribe{Topic: r.Topic, Subscription: topics.Subscription{Identity: topics.Identity(proxy.Identity), Proxy: r.Proxy, QoS: settings(r.QoS)}}
	p.step(api.Change{Op: "subscribe", From: r.Topic, To: proxy.Identity.String()}, op)
	return nil
}

// settings returns a QoS as the graph keeps it.
func settings(qos map[string]string) []topics.Setting {
	var out []topics.Setting
	for _, k := range slices.Sorted(maps.Keys(qos)) {
		out = append(out, topics.Setting{Key: k, Value: qos[k]})
	}
	return out
}

// stands tells whether a topic has the identity already, and notes where
// what it has differs.
func (p *importPlan) stands(t *topics.Topic, r *api.ImportReceiver, proxy *proto.Proxy) bool {
	id := topics.Identity(proxy.Identity)
	text := quote(proxy.Identity.String())
	for _, l := range t.Links {
		if p.view.Graph.TargetIdentity(l) != id {
			continue
		}
		switch {
		case !r.Link:
			p.keep("topic %s has a link to %s, which subscribes in the IceStorm", quote(t.Name), text)
		case l.Cost != r.Cost:
			p.keep("the link from %s to %s has cost %d here and %d in the IceStorm", quote(t.Name), text, l.Cost, r.Cost)
		}
		return true
	}
	s := t.Subscription(id)
	if s == nil {
		return false
	}
	switch {
	case r.Link:
		p.keep("%s subscribes to topic %s, which has a link to it in the IceStorm", text, quote(t.Name))
	case string(s.Proxy) != string(r.Proxy):
		p.keep("subscriber %s of topic %s is at %q here and at %q in the IceStorm", text, quote(t.Name), proxyText(s.Proxy), proxy.String())
	case !slices.Equal(s.QoS, settings(r.QoS)):
		p.keep("subscriber %s of topic %s has other quality of service here", text, quote(t.Name))
	}
	return true
}

// link links to a topic of this cluster where the target has its instance,
// and to one outside of it otherwise.
func (p *importPlan) link(r *api.ImportReceiver, proxy *proto.Proxy) error {
	op := fsm.Link{From: r.Topic, Cost: r.Cost}
	name, isTopic := strings.CutPrefix(proxy.Identity.Name, "topic.")
	if isTopic && proxy.Identity.Category == p.view.Graph.Instance() {
		if p.view.Graph.Topic(name) == nil && !p.made[name] {
			return noTopic(name)
		}
		op.To = name
	} else {
		op.Remote = &topics.Remote{Identity: topics.Identity(proxy.Identity), Proxy: r.Proxy}
	}
	p.step(api.Change{Op: "link", From: r.Topic, To: proxy.Identity.String(), Cost: r.Cost}, op)
	return nil
}

// parts cuts the changes into what log entries hold.
func (p *importPlan) parts() ([]fsm.Batch, error) {
	var parts []fsm.Batch
	size := partLimit
	for _, op := range p.ops {
		b, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			return nil, err
		}
		if size += len(b); size > partLimit {
			parts, size = append(parts, fsm.Batch{}), len(b)
		}
		last := &parts[len(parts)-1]
		last.Ops = append(last.Ops, op)
	}
	return parts, nil
}
