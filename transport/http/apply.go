package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

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
	case topics.ErrExists, topics.ErrNoTopic, topics.ErrLinkExists, topics.ErrNoLink, topics.ErrSubscribed:
		return true
	}
	return false
}

// wantedGraph is what a script asks for, in the script's order.
type wantedGraph struct {
	topics []string
	named  map[string]bool
	links  []wantedLink
	at     map[api.NewLink]int // source and target to the place in links
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
	g := &wantedGraph{named: map[string]bool{}, at: map[api.NewLink]int{}}
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
		return g.addLink(c.Line, c.Words[1:])
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

func (g *wantedGraph) addLink(line int, words []script.Word) error {
	ask, err := linkWords(words)
	if err != nil {
		return atLine(line, err.Error())
	}
	key := ask
	key.Cost = 0
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

// linkWords reads what follows the word link.
func linkWords(words []script.Word) (api.NewLink, error) {
	messages, texts, err := cutMessages(words)
	if err != nil {
		return api.NewLink{}, err
	}
	targets := 1
	if messages != nil {
		targets = 0
	}
	if len(texts) < 1+targets || len(texts) > 2+targets {
		return api.NewLink{}, errors.New("link needs two topics, or one and --to-messages, and perhaps a cost")
	}
	instance, from, err := script.TopicWord(texts[0])
	if err == nil && instance != "" {
		err = fmt.Errorf("a link begins at a topic of this cluster, not at %q", texts[0])
	}
	ask := api.NewLink{From: from, Messages: messages != nil}
	switch {
	case err != nil:
		return ask, err
	case ask.Messages:
		ask.To = messages.String()
	default:
		ask.Cluster, ask.To, err = script.TopicWord(texts[1])
	}
	if cost := texts[1+targets:]; err == nil && len(cost) == 1 {
		ask.Cost, err = api.ParseCost(cost[0])
	}
	return ask, err
}

// cutMessages takes --to-messages MTYPE[/SUBID] out of a link's words, nil
// where they have none.
func cutMessages(words []script.Word) (to *topics.Messages, rest []string, err error) {
	const name = "--to-messages"
	for i := 0; i < len(words); i++ {
		option, text, joined := strings.Cut(words[i].Text, "=")
		if words[i].Quoted || option != name {
			rest = append(rest, words[i].Text)
			continue
		}
		if !joined && i+1 < len(words) {
			i++
			text = words[i].Text
		}
		m, err := topics.ParseMessages(text)
		if err == nil && to != nil {
			err = errors.New(name + " is there twice")
		}
		if err != nil {
			return nil, nil, err
		}
		to = &m
	}
	return to, rest, nil
}
