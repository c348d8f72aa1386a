package server

import (
	"errors"

	"floe/transport/ice/proto"
)

// AppendError appends the reply that an error stands for: a
// *proto.UserException is status 1; a *proto.NotExistError and a
// *proto.UnknownError the status they name; a broken parameter or an encoding
// we can't read is UnknownLocalException; all else UnknownException.
func AppendError(dst []byte, r *Request, err error) []byte {
	var user *proto.UserException
	if errors.As(err, &user) {
		return proto.AppendUserException(dst, r.ID, r.Encoding(), user)
	}
	var missing *proto.NotExistError
	if errors.As(err, &missing) {
		return proto.AppendReply(dst, &proto.Reply{ID: r.ID, Status: missing.Status,
			Identity: missing.Identity, Facet: missing.Facet, Operation: missing.Operation})
	}
	var unknown *proto.UnknownError
	if errors.As(err, &unknown) {
		return proto.AppendUnknown(dst, r.ID, unknown.Status, unknown.Text)
	}
	if badParameters(err) {
		return proto.AppendUnknown(dst, r.ID, proto.StatusUnknownLocalException, err.Error())
	}
	return proto.AppendUnknown(dst, r.ID, proto.StatusUnknownException, err.Error())
}

func badParameters(err error) bool {
	var decode *proto.DecodeError
	var encoding *proto.UnsupportedEncodingError
	return errors.As(err, &decode) || errors.As(err, &encoding) || errors.Is(err, proto.ErrEncapsulation)
}
