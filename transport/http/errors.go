package http

import (
	"context"
	"errors"
	"net/http"

	"floe/fsm"
	"floe/topics"
	"floe/transport/federation"
	"floe/transport/http/api"
)

// kinds gives each refusal of the state its kind on the wire. A test holds
// it complete.
var kinds = map[topics.Kind]api.Kind{
	topics.ErrExists:     api.TopicExists,
	topics.ErrNoTopic:    api.NoSuchTopic,
	topics.ErrLinkExists: api.LinkExists,
	topics.ErrNoLink:     api.NoSuchLink,
	topics.ErrSubscribed: api.Subscribed,
	topics.ErrName:       api.InvalidName,
	topics.ErrLimit:      api.Limit,
	fsm.ErrInitialised:   api.ClusterNamed,
	fsm.ErrVersion:       api.Version,
	fsm.ErrStale:         api.Stale,
	fsm.ErrCluster:       api.OtherCluster,
	fsm.ErrNoCluster:     api.NoSuchCluster,
	fsm.ErrInUse:         api.InUse,
	fsm.ErrForgotten:     api.UnknownOutcome,
}

// wireError turns any error into the one that travels.
func wireError(err error) *api.Error {
	var ready *api.Error
	if errors.As(err, &ready) {
		return ready
	}
	return &api.Error{Kind: kindOf(err), Message: err.Error()}
}

func kindOf(err error) api.Kind {
	var kind topics.Kind
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, federation.ErrUnreachable):
		return api.Unreachable
	case errors.Is(err, federation.ErrNoTopic):
		return api.NoSuchTopic
	case errors.Is(err, federation.ErrOtherCluster):
		return api.OtherCluster
	case errors.As(err, &kind) && kinds[kind] != "":
		return kinds[kind]
	case errors.As(err, &large):
		return api.TooLarge
	case errors.Is(err, context.DeadlineExceeded):
		return api.Timeout
	case errors.Is(err, context.Canceled):
		return api.Cancelled
	}
	return api.Internal
}

func refuse(kind api.Kind, message string) error {
	return &api.Error{Kind: kind, Message: message}
}
