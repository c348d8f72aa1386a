package ice

import (
	"context"
	"errors"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// answers is what a client is told for each kind of refusal. What is not
// IceStorm's to know becomes status 7 with the refusal's text, which
// icestormadmin shows as it is.
var answers = map[topics.Kind]func(*server.Request, *fsm.Refusal) error{
	topics.ErrExists:     func(_ *server.Request, f *fsm.Refusal) error { return proto.TopicExists(f.Name) },
	topics.ErrNoTopic:    func(r *server.Request, _ *fsm.Refusal) error { return gone(r) },
	topics.ErrLinkExists: func(_ *server.Request, f *fsm.Refusal) error { return proto.LinkExists(f.Name) },
	topics.ErrNoLink:     func(_ *server.Request, f *fsm.Refusal) error { return proto.NoSuchLink(f.Name) },
	topics.ErrSubscribed: func(*server.Request, *fsm.Refusal) error { return proto.AlreadySubscribed() },
	topics.ErrName:       inWords,
	topics.ErrLimit:      inWords,
	topics.ErrTarget:     inWords,
	fsm.ErrInitialised:   inWords,
	fsm.ErrUnnamed:       inWords,
	fsm.ErrVersion:       inWords,
	fsm.ErrStale:         inWords,
	fsm.ErrCluster:       inWords,
	fsm.ErrNoCluster:     inWords,
	fsm.ErrToken:         inWords,
	fsm.ErrTokenExists:   inWords,
	fsm.ErrNoToken:       inWords,
	fsm.ErrInUse:         inWords,
	fsm.ErrRoutes:        inWords,
	fsm.ErrRoutesChanged: inWords,
	fsm.ErrNoLoad:        inWords,
	fsm.ErrApp:           inWords,
	fsm.ErrForgotten:     inWords,
}

func inWords(_ *server.Request, f *fsm.Refusal) error { return inText(f.Error()) }

// inText is status 7, whose text people see.
func inText(text string) error {
	return &proto.UnknownError{Status: proto.StatusUnknownException, Text: text}
}

// gone is the answer where the object asked vanished under the request.
func gone(r *server.Request) error {
	return &proto.NotExistError{Status: proto.StatusObjectNotExist, Identity: r.Identity, Facet: r.Facet, Operation: string(r.Operation)}
}

// wireError turns what Group.Propose gave into what the client of r is told.
// No quorum and an unknown outcome say so in their own words.
func wireError(r *server.Request, err error) error {
	var refusal *fsm.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		if answer := answers[refusal.Kind]; answer != nil {
			return answer(r, refusal)
		}
		return inText(refusal.Error())
	case err == context.DeadlineExceeded, err == context.Canceled: // not one that wraps them: it says more
		return inText("outcome unknown: the cluster did not answer in time")
	}
	return inText(err.Error())
}

// nestedError turns what calling a link's target gave into what the client is
// told, as Ice does with an exception that passes through a servant: object,
// facet and operation that don't exist and unknown exceptions as they are, a
// user exception as an unknown one, a failed connection as a local one.
func nestedError(err error) error {
	var missing *proto.NotExistError
	var unknown *proto.UnknownError
	if errors.As(err, &missing) || errors.As(err, &unknown) {
		return err
	}
	var user *proto.UserException
	if errors.As(err, &user) {
		return &proto.UnknownError{Status: proto.StatusUnknownUserException, Text: user.TypeID}
	}
	return &proto.UnknownError{Status: proto.StatusUnknownLocalException, Text: err.Error()}
}
