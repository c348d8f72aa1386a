package proto

// Type ids of the user exceptions of IceStorm.
const (
	TypeTopicExists       = "::IceStorm::TopicExists"
	TypeNoSuchTopic       = "::IceStorm::NoSuchTopic"
	TypeLinkExists        = "::IceStorm::LinkExists"
	TypeNoSuchLink        = "::IceStorm::NoSuchLink"
	TypeAlreadySubscribed = "::IceStorm::AlreadySubscribed"
	TypeInvalidSubscriber = "::IceStorm::InvalidSubscriber"
	TypeBadQoS            = "::IceStorm::BadQoS"
	TypeReapWouldBlock    = "::IceStorm::ReapWouldBlock"
)

// UserException is a user exception without base exceptions and with at most
// one member, a string: that covers IceStorm. Compare TypeID to tell which.
type UserException struct {
	TypeID string
	Detail string // the name or reason, for the exceptions of IceStorm
	// Members holds the encoded members of the first slice of an exception
	// met in a reply. It aliases the message.
	Members []byte
}

// TopicExists is thrown by create for the name of a topic.
func TopicExists(name string) *UserException { return newException(TypeTopicExists, name) }

// NoSuchTopic is thrown by retrieve.
func NoSuchTopic(name string) *UserException { return newException(TypeNoSuchTopic, name) }

// LinkExists is thrown by link; name is the target's.
func LinkExists(name string) *UserException { return newException(TypeLinkExists, name) }

// NoSuchLink is thrown by unlink; name is the target's.
func NoSuchLink(name string) *UserException { return newException(TypeNoSuchLink, name) }

// AlreadySubscribed is thrown by subscribeAndGetPublisher.
func AlreadySubscribed() *UserException { return newException(TypeAlreadySubscribed, "") }

// InvalidSubscriber is thrown by subscribeAndGetPublisher.
func InvalidSubscriber(reason string) *UserException {
	return newException(TypeInvalidSubscriber, reason)
}

// BadQoS is thrown by subscribeAndGetPublisher.
func BadQoS(reason string) *UserException { return newException(TypeBadQoS, reason) }

// ReapWouldBlock is thrown by reap.
func ReapWouldBlock() *UserException { return newException(TypeReapWouldBlock, "") }

func newException(id, detail string) *UserException {
	return &UserException{TypeID: id, Detail: detail}
}

// Error returns the type id and the detail, if any.
func (e *UserException) Error() string {
	if e.Detail == "" {
		return e.TypeID
	}
	return e.TypeID + ": " + e.Detail
}

// hasDetail says whether the exception has its one member.
func hasDetail(typeID string) bool {
	switch typeID {
	case TypeTopicExists, TypeNoSuchTopic, TypeLinkExists, TypeNoSuchLink, TypeInvalidSubscriber, TypeBadQoS:
		return true
	}
	return false
}

// Slice flags of encoding 1.1.
const (
	flagHasSize   = 0x10
	flagLastSlice = 0x20
)

// AppendUserException appends a whole Reply message that carries one of
// IceStorm's exceptions, in the encoding of the request's parameters. In 1.1
// it has the compact form, like those of a server with default settings.
func AppendUserException(dst []byte, id int32, encoding Version, e *UserException) []byte {
	dst, start := BeginReply(dst, id, StatusUserException)
	dst, encaps := BeginEncapsulation(dst, writable(encoding))
	if writable(encoding) == Encoding10 {
		dst = appendException10(dst, e)
	} else {
		dst = append(dst, flagLastSlice)
		dst = AppendString(dst, e.TypeID)
		dst = appendDetail(dst, e)
	}
	return PatchSize(EndEncapsulation(dst, encaps), start, 0)
}

func appendException10(dst []byte, e *UserException) []byte {
	dst = append(dst, 0) // uses no classes
	dst = AppendString(dst, e.TypeID)
	slice := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	return EndEncapsulation(appendDetail(dst, e), slice) // the same kind of size
}

func appendDetail(dst []byte, e *UserException) []byte {
	if hasDetail(e.TypeID) {
		return AppendString(dst, e.Detail)
	}
	return dst
}

// ParseUserException decodes the encapsulation of a reply of status
// UserException: compact, sliced, or of encoding 1.0. Of an exception with
// bases the first, most derived slice is returned.
func ParseUserException(encaps []byte) (UserException, error) {
	d, err := OpenEncapsulation(encaps)
	if err != nil {
		return UserException{}, err
	}
	flags := d.Byte()
	if d.encoding == Encoding10 {
		flags = flagHasSize // the byte says whether classes are used
	}
	e := UserException{TypeID: d.String()}
	e.Members = d.sliceMembers(flags)
	if hasDetail(e.TypeID) {
		members := Decoder{buf: e.Members, encoding: d.encoding}
		e.Detail = members.String()
		if d.err == nil {
			d.err = members.err
		}
	}
	return e, d.err
}

// sliceMembers returns the members of a slice: counted, or up to the end.
func (d *Decoder) sliceMembers(flags byte) []byte {
	if flags&flagHasSize == 0 {
		return d.Next(d.Left())
	}
	size := d.Int32()
	return d.Next(int(size) - 4)
}
