package http

import (
	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
)

// graphPlan compares the graph as it stands with the one that is wanted.
type graphPlan struct {
	view    *fsm.View
	remote  func(cluster, topic string) (topics.Remote, error)
	changes []api.Change
	ops     []fsm.Op
}

// compare fills in the changes: what is missing is added, a cost that
// differs is changed and, with prune, what is not wanted goes.
func (p *graphPlan) compare(wanted *wantedGraph, prune bool) error {
	for _, name := range wanted.topics {
		if p.view.Graph.Topic(name) == nil {
			p.step(api.Change{Op: "create", From: name}, fsm.CreateTopic{Name: name})
		}
	}
	kept := map[[2]string]bool{}
	for _, l := range wanted.links {
		shown, err := p.link(l, wanted.named)
		if err != nil {
			return err
		}
		kept[[2]string{l.ask.From, shown}] = true
	}
	if prune {
		p.prune(wanted, kept)
	}
	return nil
}

func (p *graphPlan) step(c api.Change, op fsm.Op) {
	p.changes = append(p.changes, c)
	p.ops = append(p.ops, op)
}

// link adds a link, changes its cost, or finds it as it should be. It
// returns how the target is shown.
func (p *graphPlan) link(l wantedLink, made map[string]bool) (shown string, err error) {
	ask := l.ask
	if ask.Cluster == p.view.Graph.Instance() {
		ask.Cluster = ""
	}
	shown = ask.To
	if ask.Cluster != "" {
		shown = ask.Cluster + "/" + ask.To
	}
	for _, name := range []string{ask.From, ask.To} {
		if ask.Cluster != "" && name == ask.To {
			continue
		}
		if p.view.Graph.Topic(name) == nil && !made[name] {
			return "", atLine(l.line, (&topics.Error{Kind: topics.ErrNoTopic, Name: name}).Error())
		}
	}
	old, exists := p.existing(ask.From, shown)
	if exists && old.Cost == ask.Cost {
		return shown, nil
	}
	op, err := p.linkOp(ask, old, exists)
	if err != nil {
		return "", atLine(l.line, err.Error())
	}
	if exists {
		p.step(api.Change{Op: "cost", From: ask.From, To: shown, Cost: ask.Cost, Was: old.Cost}, op)
	} else {
		p.step(api.Change{Op: "link", From: ask.From, To: shown, Cost: ask.Cost}, op)
	}
	return shown, nil
}

func (p *graphPlan) linkOp(ask api.NewLink, old topics.Link, exists bool) (fsm.Op, error) {
	op := fsm.Link{From: ask.From, To: ask.To, Cost: ask.Cost, Replace: exists}
	if ask.Cluster == "" {
		return op, nil
	}
	op.To = ""
	if exists {
		op.Remote = old.Remote
		return op, nil
	}
	remote, err := p.remote(ask.Cluster, ask.To)
	op.Remote = &remote
	return op, err
}

func (p *graphPlan) existing(from, shown string) (topics.Link, bool) {
	t := p.view.Graph.Topic(from)
	if t == nil {
		return topics.Link{}, false
	}
	for _, l := range t.Links {
		if name, _ := LinkName(p.view, l); name == shown {
			return l, true
		}
	}
	return topics.Link{}, false
}

// prune removes links and topics that are not wanted. Links to a foreign
// IceStorm stay as long as their topic does: a script can't name them.
func (p *graphPlan) prune(wanted *wantedGraph, kept map[[2]string]bool) {
	named := map[string]bool{}
	for name := range wanted.named {
		named[name] = true
	}
	for _, l := range wanted.links {
		named[l.ask.From] = true
		if l.ask.Cluster == "" || l.ask.Cluster == p.view.Graph.Instance() {
			named[l.ask.To] = true
		}
	}
	for t := range p.view.Graph.All() {
		p.pruneLinks(t, kept)
	}
	for t := range p.view.Graph.All() {
		if !named[t.Name] {
			p.step(api.Change{Op: "destroy", From: t.Name}, fsm.DestroyTopic{Name: t.Name})
		}
	}
}

func (p *graphPlan) pruneLinks(t *topics.Topic, kept map[[2]string]bool) {
	for _, l := range t.Links {
		shown, remote := LinkName(p.view, l)
		if kept[[2]string{t.Name, shown}] || remote == "icestorm" {
			continue
		}
		p.step(api.Change{Op: "unlink", From: t.Name, To: shown}, fsm.Unlink{From: t.Name, Target: p.view.Graph.TargetIdentity(l)})
	}
}
