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

// shownLink is a link as [api.Link] shows it.
type shownLink struct{ from, to, remote string }

// compare fills in the changes: what is missing is added, a cost that
// differs is changed and, with prune, what is not wanted goes.
func (p *graphPlan) compare(wanted *wantedGraph, prune bool) error {
	for _, name := range wanted.topics {
		if p.view.Graph.Topic(name) == nil {
			p.step(api.Change{Op: "create", From: name}, fsm.CreateTopic{Name: name})
		}
	}
	kept := map[shownLink]bool{}
	for _, l := range wanted.links {
		shown, err := p.link(l, wanted.named)
		if err != nil {
			return err
		}
		kept[shown] = true
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
// returns how it is shown.
func (p *graphPlan) link(l wantedLink, made map[string]bool) (shownLink, error) {
	ask := l.ask
	if ask.Cluster == p.view.Graph.Instance() {
		ask.Cluster = ""
	}
	for _, name := range topicsHere(ask) {
		if p.view.Graph.Topic(name) == nil && !made[name] {
			return shownLink{}, atLine(l.line, (&topics.Error{Kind: topics.ErrNoTopic, Name: name}).Error())
		}
	}
	shown := shownAs(ask)
	old, exists := p.existing(shown)
	if exists && old.Cost == ask.Cost {
		return shown, nil
	}
	op, err := p.linkOp(ask, old, exists)
	if err != nil {
		return shown, atLine(l.line, err.Error())
	}
	if exists {
		p.step(api.Change{Op: "cost", From: ask.From, To: shown.to, Cost: ask.Cost, Was: old.Cost}, op)
	} else {
		p.step(api.Change{Op: "link", From: ask.From, To: shown.to, Cost: ask.Cost}, op)
	}
	return shown, nil
}

// topicsHere are the topics of this cluster that a link is between.
func topicsHere(ask api.NewLink) []string {
	if ask.Cluster != "" || ask.Messages {
		return []string{ask.From}
	}
	return []string{ask.From, ask.To}
}

// shownAs is how a link that is asked for is shown once it is there.
func shownAs(ask api.NewLink) shownLink {
	switch {
	case ask.Messages:
		return shownLink{ask.From, api.ToMessages + ":" + ask.To, api.ToMessages}
	case ask.Cluster != "":
		return shownLink{ask.From, ask.Cluster + "/" + ask.To, "floe " + ask.Cluster}
	}
	return shownLink{from: ask.From, to: ask.To}
}

func (p *graphPlan) linkOp(ask api.NewLink, old topics.Link, exists bool) (fsm.Op, error) {
	op := fsm.Link{From: ask.From, To: ask.To, Cost: ask.Cost, Replace: exists}
	if ask.Cluster == "" && !ask.Messages {
		return op, nil
	}
	op.To = ""
	if exists {
		op.Remote = old.Remote
		return op, nil
	}
	var err error
	var remote topics.Remote
	if ask.Messages {
		remote, err = toMessages(ask)
	} else {
		remote, err = p.remote(ask.Cluster, ask.To)
	}
	op.Remote = &remote
	return op, err
}

func (p *graphPlan) existing(shown shownLink) (topics.Link, bool) {
	t := p.view.Graph.Topic(shown.from)
	if t == nil {
		return topics.Link{}, false
	}
	for _, l := range t.Links {
		if to, remote := LinkName(p.view, l); to == shown.to && remote == shown.remote {
			return l, true
		}
	}
	return topics.Link{}, false
}

// prune removes links and topics that are not wanted. Links to a foreign
// IceStorm stay as long as their topic does: a script can't name them.
func (p *graphPlan) prune(wanted *wantedGraph, kept map[shownLink]bool) {
	named := map[string]bool{}
	for name := range wanted.named {
		named[name] = true
	}
	for _, l := range wanted.links {
		ask := l.ask
		if ask.Cluster == p.view.Graph.Instance() {
			ask.Cluster = ""
		}
		for _, name := range topicsHere(ask) {
			named[name] = true
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

func (p *graphPlan) pruneLinks(t *topics.Topic, kept map[shownLink]bool) {
	for _, l := range t.Links {
		shown, remote := LinkName(p.view, l)
		if kept[shownLink{t.Name, shown, remote}] || remote == "icestorm" {
			continue
		}
		p.step(api.Change{Op: "unlink", From: t.Name, To: shown}, fsm.Unlink{From: t.Name, Target: p.view.Graph.TargetIdentity(l)})
	}
}
