package topics

import (
	"encoding/binary"
	"iter"
	"unicode/utf8"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Bounds of one graph.
const (
	// MaxName is the longest topic name, in bytes.
	MaxName = 255
	// MaxTopics is the most topics a graph holds.
	MaxTopics = 100_000
	// MaxFanout is the most links and the most subscriptions of one topic.
	MaxFanout = 10_000
)

// Graph is all topics with their links and subscriptions. The zero value is
// of no use: start with [New]. A Graph never changes and may be shared freely.
type Graph struct {
	instance string
	byName   *iradix.Tree[*Topic]
	byID     *iradix.Tree[*Topic]
	serial   uint64
	digest   Digest
}

// New returns an empty graph. instance is the category of its topics' Ice
// identities ("IceStorm" unless the cluster was given another).
func New(instance string) *Graph {
	return &Graph{instance: instance, byName: iradix.New[*Topic](), byID: iradix.New[*Topic]()}
}

// Instance returns the category of the topics' Ice identities.
func (g *Graph) Instance() string { return g.instance }

// Len returns the number of topics.
func (g *Graph) Len() int { return g.byName.Len() }

// Serial returns the last number handed out for a topic, link or subscription.
func (g *Graph) Serial() uint64 { return g.serial }

// Topic returns the topic of that name, nil if there is none.
func (g *Graph) Topic(name string) *Topic {
	t, _ := g.byName.Get(nameKey(name))
	return t
}

// ByID returns the topic of that id, nil if there is none.
func (g *Graph) ByID(id ID) *Topic {
	t, _ := g.byID.Get(idKey(id))
	return t
}

// All yields the topics sorted by name, bytewise.
func (g *Graph) All() iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		it := g.byName.Root().Iterator()
		for _, t, ok := it.Next(); ok; _, t, ok = it.Next() {
			if !yield(t) {
				return
			}
		}
	}
}

// Identity returns the Ice identity of a topic of this graph.
func (g *Graph) Identity(t *Topic) Identity { return g.identity(t.Name) }

func (g *Graph) identity(name string) Identity {
	return Identity{Name: "topic." + name, Category: g.instance}
}

// TargetIdentity returns the identity Ice tools show for a link's target.
func (g *Graph) TargetIdentity(l Link) Identity {
	if l.Remote != nil {
		return l.Remote.Identity
	}
	return g.Identity(g.ByID(l.To))
}

// CheckName returns an [Error] of kind ErrName if no topic can have that
// name. Any UTF-8 text up to MaxName bytes is a name, the empty one too.
func CheckName(name string) error {
	if len(name) > MaxName || !utf8.ValidString(name) {
		return refuse(ErrName, name)
	}
	return nil
}

// put returns a graph in which the given topics replace those of equal id.
func (g *Graph) put(changed ...*Topic) *Graph {
	next := *g
	for _, t := range changed {
		next.byName, _, _ = next.byName.Insert(nameKey(t.Name), t)
		next.byID, _, _ = next.byID.Insert(idKey(t.ID), t)
	}
	return &next
}

func (g *Graph) drop(t *Topic) *Graph {
	next := *g
	next.byName, _, _ = next.byName.Delete(nameKey(t.Name))
	next.byID, _, _ = next.byID.Delete(idKey(t.ID))
	return &next
}

func nameKey(name string) []byte { return []byte(name) }

func idKey(id ID) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(id)) }
