package http

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"floe/cluster"
	"floe/fsm"
	"floe/routing"
	"floe/topics"
	"floe/transport/federation"
	"floe/transport/http/api"
	"floe/transport/routeload"
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
	topics.ErrTarget:     api.BadRequest,
	fsm.ErrInitialised:   api.ClusterNamed,
	fsm.ErrUnnamed:       api.NotReady,
	fsm.ErrVersion:       api.Version,
	fsm.ErrStale:         api.Stale,
	fsm.ErrCluster:       api.OtherCluster,
	fsm.ErrNoCluster:     api.NoSuchCluster,
	fsm.ErrInUse:         api.InUse,
	fsm.ErrToken:         api.BadRequest,
	fsm.ErrTokenExists:   api.TokenExists,
	fsm.ErrNoToken:       api.NoSuchToken,
	fsm.ErrRoutes:        api.BadRequest,
	fsm.ErrRoutesChanged: api.Changed,
	fsm.ErrNoLoad:        api.Changed,
	fsm.ErrApp:           api.BadRequest,
	fsm.ErrNotEmpty:      api.InUse,
	fsm.ErrNoRevert:      api.Limit,
	fsm.ErrChanged:       api.Changed,
	fsm.ErrBackup:        api.BadRequest,
	fsm.ErrForgotten:     api.UnknownOutcome,
}

// codes gives each refusal of package cluster its kind. A test holds it
// complete.
var codes = map[string]api.Kind{
	cluster.CodeDuplicate:     api.Membership,
	cluster.CodeOtherCluster:  api.OtherCluster,
	cluster.CodeVersion:       api.Version,
	cluster.CodeAlready:       api.Membership,
	cluster.CodeUnknownNode:   api.NoSuchNode,
	cluster.CodeQuorum:        api.QuorumAtRisk,
	cluster.CodeLastNode:      api.Membership,
	cluster.CodeNotVoter:      api.Membership,
	cluster.CodeLagging:       api.Membership,
	cluster.CodeUnchanged:     api.Membership,
	cluster.CodeNotMember:     api.NotReady,
	cluster.CodeUnknownMethod: api.Internal,
	cluster.CodeNoSpace:       api.NoSpace,
	cluster.CodeToken:         api.Unauthorized,
	cluster.CodeKeys:          api.Membership,
	// Those below have no name outside of package cluster.
	"not_leader":      api.NoQuorum,
	"no_quorum":       api.NoQuorum,
	"outcome_unknown": api.UnknownOutcome,
	"invalid":         api.BadRequest,
	"no_cluster":      api.Membership,
}

// wireError turns any error into the one that travels.
func wireError(err error) *api.Error {
	var ready *api.Error
	if errors.As(err, &ready) {
		return ready
	}
	var syntax *routing.SyntaxError
	if errors.As(err, &syntax) {
		return &api.Error{Kind: api.BadRequest, Message: err.Error(), Line: syntax.Line()}
	}
	return &api.Error{Kind: kindOf(err), Message: err.Error()}
}

func kindOf(err error) api.Kind {
	var kind topics.Kind
	var large *http.MaxBytesError
	var refused *cluster.Refused
	var other *cluster.OtherCluster
	var quorum *cluster.NoQuorum
	var nobody *cluster.Unreachable
	var unknown *cluster.Unknown
	var notMade *routeload.NotMade
	switch {
	case errors.As(err, &notMade): // whatever its cause says about one part of it
		if k := kindOf(notMade.Unwrap()); k != api.UnknownOutcome {
			return k
		}
		return api.Timeout
	case errors.As(err, &unknown): // before all that it may have been caused by
		return api.UnknownOutcome
	case errors.As(err, &quorum):
		return api.NoQuorum
	case errors.As(err, &other):
		return api.OtherCluster
	case errors.As(err, &refused):
		return cmp.Or(codes[refused.Code], api.Membership)
	case errors.As(err, &nobody), errors.Is(err, federation.ErrUnreachable):
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
