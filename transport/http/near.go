package http

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"floe/fsm"
	"floe/routing"
	"floe/topics"
	"floe/transport/http/api"
)

// hinted adds to the refusal of an unknown topic, cluster or token the known
// ones that are spelled almost like it.
func (s *Server) hinted(err error) error {
	var refusal *fsm.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	v := s.config.Group.View()
	var known iter.Seq[string]
	switch refusal.Kind {
	case topics.ErrNoTopic:
		known = names(v.Graph.All(), func(t *topics.Topic) string { return t.Name })
	case fsm.ErrNoCluster:
		known = names(slices.Values(v.Clusters), func(p fsm.Peer) string { return p.Name })
	case fsm.ErrNoToken:
		known = names(slices.Values(v.Tokens), func(t fsm.Token) string { return t.Name })
	default:
		return err
	}
	return hint(err, refusal.Name, known)
}

// hintedNode does so for an unknown node.
func (s *Server) hintedNode(ctx context.Context, err error, id string) error {
	if err == nil || wireError(err).Kind != api.NoSuchNode {
		return err
	}
	return hint(err, id, names(slices.Values(s.config.Nodes.Members(ctx)), func(m api.Member) string { return m.ID }))
}

func names[T any](all iter.Seq[T], name func(T) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for one := range all {
			if !yield(name(one)) {
				return
			}
		}
	}
}

func hint(err error, word string, known iter.Seq[string]) error {
	near := nearNames(word, known)
	if near == "" {
		return err
	}
	told := *wireError(err)
	told.Message += "; did you mean " + near + "?"
	return &told
}

// nearNames are the known names spelled almost like a word, in words.
func nearNames(word string, known iter.Seq[string]) string {
	near := routing.Near(word, known)
	for i := range near {
		near[i] = strconv.Quote(near[i])
	}
	return strings.Join(near[:min(len(near), 3)], " or ")
}
