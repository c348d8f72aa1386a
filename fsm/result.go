package fsm

import (
	"errors"
	"fmt"
	"slices"

	"floe/topics"
)

// Result is what a command came to. It is kept for a while under the
// command's request id, so that a repeated command gives the first result.
type Result struct {
	// Index is the Raft index the command was applied at.
	Index uint64 `codec:"x,omitempty"`
	// Topic is the id of the topic made or touched.
	Topic topics.ID `codec:"t,omitempty"`
	// Serial is the incarnation of the link or subscription made.
	Serial uint64 `codec:"s,omitempty"`
	// Count says how many records were removed, or how many keys and MEIDs
	// a change of the routes touched.
	Count int `codec:"c,omitempty"`
	// Version is the version of the routes after a change of them, Routes
	// and MEIDs say how many entries and MEIDs there are then.
	Version uint64 `codec:"v,omitempty"`
	Routes  int    `codec:"nr,omitempty"`
	MEIDs   int    `codec:"nm,omitempty"`
	// Parts are the results of a batch.
	Parts []Result `codec:"p,omitempty"`
	// Refused says why the command changed nothing; nil where it did.
	Refused *Refusal `codec:"r,omitempty"`
}

// Err returns the refusal as an error, nil where there is none.
func (r Result) Err() error {
	if r.Refused == nil {
		return nil
	}
	return r.Refused
}

// Refusal is a domain error that travels between nodes: a refused command is
// normal, changes nothing, and is the same on every node.
type Refusal struct {
	// Kind is one of the topics.Kind values or of the kinds below.
	Kind topics.Kind `codec:"k"`
	// Name is the topic, node or identity the refusal is about.
	Name string `codec:"n,omitempty"`
	// Detail says more; may be empty.
	Detail string `codec:"d,omitempty"`
	// Part is the place (from 1) of the refused op in a batch, 0 outside of one.
	Part int `codec:"p,omitempty"`
}

// Kinds of refusal beyond those of package topics.
const (
	// ErrInitialised: the cluster has its name already.
	ErrInitialised topics.Kind = "the cluster has its name already"
	// ErrUnnamed: nobody's change comes before the cluster's [Init].
	ErrUnnamed topics.Kind = "the cluster is being founded, it has no name yet"
	// ErrVersion: the op is newer than the cluster version, or the version would fall.
	ErrVersion topics.Kind = "not possible at this cluster version"
	// ErrStale: an older incarnation of a node spoke.
	ErrStale topics.Kind = "a newer incarnation of this node is known"
	// ErrCluster: the name stands for another cluster.
	ErrCluster topics.Kind = "the name stands for another cluster"
	// ErrNoCluster: no cluster of that name is known.
	ErrNoCluster topics.Kind = "no such cluster"
	// ErrInUse: links lead to that cluster, or routes to that topic.
	ErrInUse topics.Kind = "still in use"
	// ErrRoutes: a record that no table or map can hold.
	ErrRoutes topics.Kind = "routes can't hold this"
	// ErrRoutesChanged: the routes are at another version than was asked for.
	ErrRoutesChanged topics.Kind = "the routes have changed"
	// ErrNoLoad: the load is not known any more, or a part of it is missing.
	ErrNoLoad topics.Kind = "the load is not whole"
	// ErrApp: an app that can't be registered.
	ErrApp topics.Kind = "the app can't be registered"
	// ErrToken: a token that can't be.
	ErrToken topics.Kind = "not a token"
	// ErrTokenExists: a token of that name exists.
	ErrTokenExists topics.Kind = "a token of this name exists"
	// ErrNoToken: no such token.
	ErrNoToken topics.Kind = "no such token"
	// ErrForgotten: a repeated command came so late that nobody knows any
	// more whether it was applied; its outcome is unknown.
	ErrForgotten topics.Kind = "outcome unknown: repeated too late"
)

// Error returns the refusal as one line.
func (r *Refusal) Error() string {
	text := (&topics.Error{Kind: r.Kind, Name: r.Name, Detail: r.Detail}).Error()
	switch r.Kind {
	case ErrRoutes, ErrRoutesChanged, ErrNoLoad, ErrNotEmpty, ErrBackup, ErrNoRevert, ErrChanged: // these are about no name
		text = string(r.Kind) + ": " + r.Detail
	}
	if r.Part > 0 {
		return fmt.Sprintf("part %d: %s", r.Part, text)
	}
	return text
}

// Unwrap returns the kind, for errors.Is.
func (r *Refusal) Unwrap() error { return r.Kind }

// refusal turns a domain error into what travels.
func refusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	var t *topics.Error
	if errors.As(err, &t) {
		return &Refusal{Kind: t.Kind, Name: t.Name, Detail: t.Detail}
	}
	return &Refusal{Kind: topics.Kind(err.Error())}
}

func refuse(kind topics.Kind, name string) *Refusal { return &Refusal{Kind: kind, Name: name} }

// Equal tells whether two results are alike in everything.
func (r Result) Equal(o Result) bool {
	if (r.Refused == nil) != (o.Refused == nil) || r.Refused != nil && *r.Refused != *o.Refused {
		return false
	}
	return r.Index == o.Index && r.Topic == o.Topic && r.Serial == o.Serial && r.Count == o.Count &&
		r.Version == o.Version && r.Routes == o.Routes && r.MEIDs == o.MEIDs &&
		slices.EqualFunc(r.Parts, o.Parts, Result.Equal)
}
