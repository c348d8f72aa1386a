package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
	"floe/transport/http/script"
)

// applyTries is how often a script is compared anew with a graph that others
// change meanwhile.
const applyTries = 5

// apply brings the graph to what a script says, whole or not at all.
func (s *Server) apply(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Apply
	if err := decode(r, bulkLimit, &ask, "script"); err != nil {
		return nil, err
	}
	wanted, err := parseGraph(ask.Script)
	if err != nil {
		return nil, err
	}
	for range applyTries {
		applied, err := s.applyOnce(ctx, r, wanted, ask)
		if !crossed(err) {
			return applied, err
		}
	}
	return nil, refuse(api.Changed, "others kept changing the graph meanwhile; nothing was changed, try again")
}

func (s *Server) applyOnce(ctx context.Context, r *http.Request, wanted *wantedGraph, ask api.Apply) (api.Applied, error) {
	v, err := s.config.Group.Read(ctx)
	if err != nil {
		return api.Applied{}, err
	}
	plan := &graphPlan{view: v, changes: []api.Change{}, remote: func(cluster, name string) (topics.Remote, error) { return s.remote(ctx, cluster, name) }}
	if err := plan.compare(wanted, ask.Prune); err != nil {
		return api.Applied{}, err
	}
	applied := api.Applied{Changes: plan.changes, Index: v.Index, Applied: !ask.Check}
	if ask.Check || len(plan.ops) == 0 {
		return applied, nil
	}
	result, err := s.propose(ctx, r, fsm.Batch{Ops: plan.ops})
	applied.Index = result.Index
	return applied, err
}

// crossed tells whether a batch was refused because the graph was not any
// more what it was compared with.
func crossed(err error) bool {
	var refused *fsm.Refusal
	if !errors.As(err, &refused) || refused.Part == 0 {
		return false
	}
	switch refused.Kind {
	case topics.ErrExists, topics.ErrNoTopic, topics.ErrLinkExists, topics.ErrNoLink:
		return true
	}
	return false
}

// wantedGraph is what a script asks for, in the script's order.
type wantedGraph struct {
	topics []string
	named  map[string]bool
	links  []wantedLink
	at     map[[2]string]int // source and target to the place in links
}

type wantedLink struct {
	ask  api.NewLink
	line int
}

// parseGraph reads a graph script: create and link commands.
func parseGraph(text string) (*wantedGraph, error) {
	commands, err := script.All(text)
	var bad *script.Error
	if errors.As(err, &bad) {
		return nil, atLine(bad.Line, bad.Text)
	}
	if err != nil {
		return nil, err
	}
	g := &wantedGraph{named: map[string]bool{}, at: map[[2]string]int{}}
	for _, c := range commands {
		if err := g.add(c); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func atLine(line int, text string) error {
	return &api.Error{Kind: api.BadRequest, Line: line, Message: fmt.Sprintf("line %d: %s", line, text)}
}

func (g *wantedGraph) add(c script.Command) error {
	words := c.Texts()
	switch words[0] {
	case "create":
		return g.addTopics(c.Line, words[1:])
	case "link":
		return g.addLink(c.Line, words[1:])
	}
	return atLine(c.Line, fmt.Sprintf("%q has no place in a graph script, which holds create and link commands", words[0]))
}

func (g *wantedGraph) addTopics(line int, words []string) error {
	if len(words) == 0 {
		return atLine(line, "create needs the name of a topic")
	}
	for _, w := range words {
		instance, name, err := script.TopicWord(w)
		if err == nil && instance != "" {
			err = fmt.Errorf("a script makes topics of this cluster only, not %q", w)
		}
		if err == nil {
			err = topics.CheckName(name)
		}
		if err != nil {
			return atLine(line, err.Error())
		}
		if !g.named[name] {
			g.topics = append(g.topics, name)
		}
		g.named[name] = true
	}
	return nil
}

func (g *wantedGraph) addLink(line int, words []string) error {
	if len(words) < 2 || len(words) > 3 {
		return atLine(line, "link needs two topics and perhaps a cost")
	}
	ask, err := linkWords(words)
	if err != nil {
		return atLine(line, err.Error())
	}
	key := [2]string{ask.From, ask.Cluster + "/" + ask.To}
	if i, twice := g.at[key]; twice {
		if g.links[i].ask.Cost != ask.Cost {
			return atLine(line, fmt.Sprintf("the link from %q to %q has cost %d in line %d", ask.From, ask.To, g.links[i].ask.Cost, g.links[i].line))
		}
		return nil
	}
	g.at[key] = len(g.links)
	g.links = append(g.links, wantedLink{ask: ask, line: line})
	return nil
}

func linkWords(words []string) (api.NewLink, error) {
	instance, from, err := script.TopicWord(words[0])
	if err == nil && instance != "" {
		err = fmt.Errorf("a link begins at a topic of this cluster, not at %q", words[0])
	}
	if err != nil {
		return api.NewLink{}, err
	}
	cluster, to, err := script.TopicWord(words[1])
	if err != nil {
		return api.NewLink{}, err
	}
	ask := api.NewLink{From: from, To: to, Cluster: cluster}
	if len(words) == 3 {
		ask.Cost, err = api.ParseCost(words[2])
	}
	return ask, err
}
