package topics

import (
	"fmt"
	"strconv"
)

// Kind says why the graph refused a change. It is an error itself, so that
// errors.Is(err, topics.ErrExists) works on what the package returns.
type Kind string

// The kinds of refusal.
const (
	ErrExists     Kind = "topic exists"
	ErrNoTopic    Kind = "no such topic"
	ErrLinkExists Kind = "link exists"
	ErrNoLink     Kind = "no such link"
	ErrSubscribed Kind = "already subscribed"
	ErrName       Kind = "not a topic name: it must be UTF-8 text of at most 255 bytes"
	ErrLimit      Kind = "limit reached"
	ErrTarget     Kind = "no link can lead there"
)

// Error returns the kind in words.
func (k Kind) Error() string { return string(k) }

// Error is a refused change: what was refused and about which name.
type Error struct {
	Kind Kind
	// Name is the topic (or the subscriber's identity) the refusal is about.
	Name string
	// Detail says more where the kind alone does not suffice; may be empty.
	Detail string
}

// Error returns the refusal as one line.
func (e *Error) Error() string {
	name := e.Name
	if len(name) > 64 {
		name = name[:64] + "..."
	}
	text := fmt.Sprintf("%s: %s", strconv.Quote(name), e.Kind)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

func refuse(kind Kind, name string) *Error { return &Error{Kind: kind, Name: name} }
