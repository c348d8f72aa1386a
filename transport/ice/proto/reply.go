package proto

import "fmt"

// Status is the reply status of a request.
type Status byte

// The reply statuses of the protocol.
const (
	StatusOK                    Status = 0
	StatusUserException         Status = 1
	StatusObjectNotExist        Status = 2
	StatusFacetNotExist         Status = 3
	StatusOperationNotExist     Status = 4
	StatusUnknownLocalException Status = 5
	StatusUnknownUserException  Status = 6
	StatusUnknownException      Status = 7
)

// String returns the name of the status, as in the manual.
func (s Status) String() string {
	names := [...]string{"OK", "UserException", "ObjectNotExist", "FacetNotExist", "OperationNotExist",
		"UnknownLocalException", "UnknownUserException", "UnknownException"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("Status(%d)", byte(s))
}

// Reply is a decoded reply. Which fields are set depends on Status. Byte
// slices alias the message.
type Reply struct {
	ID     int32
	Status Status

	Encaps []byte // statuses 0 and 1: the whole encapsulation

	Identity  Identity // statuses 2 to 4
	Facet     string
	Operation string

	Text string // statuses 5 to 7
}

// ParseReply decodes the body of a Reply message. Errors wrap ErrProtocol.
func ParseReply(body []byte, r *Reply) error {
	d := Decoder{buf: body, encoding: Encoding10}
	*r = Reply{ID: d.Int32(), Status: Status(d.Byte())}
	switch r.Status {
	case StatusOK, StatusUserException:
		r.Encaps = d.Encapsulation()
	case StatusObjectNotExist, StatusFacetNotExist, StatusOperationNotExist:
		r.Identity = d.Identity()
		r.Facet = string(d.facetPath())
		r.Operation = d.String()
	case StatusUnknownLocalException, StatusUnknownUserException, StatusUnknownException:
		r.Text = d.String()
	default:
		d.fail(fmt.Sprintf("unknown reply status %d", byte(r.Status)))
	}
	if d.err != nil {
		return protocolError("reply: %w", d.err)
	}
	return nil
}

// Err returns nil for status 0, else what went wrong at the other side:
// *UserException, *NotExistError or *UnknownError; *DecodeError where a user
// exception can't be decoded.
func (r *Reply) Err() error {
	switch r.Status {
	case StatusOK:
		return nil
	case StatusUserException:
		ex, err := ParseUserException(r.Encaps)
		if err != nil {
			return fmt.Errorf("user exception: %w", err)
		}
		return &ex
	case StatusObjectNotExist, StatusFacetNotExist, StatusOperationNotExist:
		return &NotExistError{Status: r.Status, Identity: r.Identity, Facet: r.Facet, Operation: r.Operation}
	}
	return &UnknownError{Status: r.Status, Text: r.Text}
}

// NotExistError is a reply of status ObjectNotExist, FacetNotExist or
// OperationNotExist.
type NotExistError struct {
	Status    Status
	Identity  Identity
	Facet     string
	Operation string
}

// Error names status, object and operation.
func (e *NotExistError) Error() string {
	facet := ""
	if e.Facet != "" {
		facet = fmt.Sprintf(" facet %q", e.Facet)
	}
	return fmt.Sprintf("%v: object %q%s operation %q", e.Status, e.Identity.String(), facet, e.Operation)
}

// UnknownError is a reply of status UnknownLocalException,
// UnknownUserException or UnknownException.
type UnknownError struct {
	Status Status
	Text   string // words of the other side
}

// Error returns status and text.
func (e *UnknownError) Error() string { return fmt.Sprintf("%v: %s", e.Status, e.Text) }

// AppendReply appends a whole Reply message, the counterpart of ParseReply.
func AppendReply(dst []byte, r *Reply) []byte {
	dst, start := BeginReply(dst, r.ID, r.Status)
	switch r.Status {
	case StatusOK, StatusUserException:
		dst = append(dst, r.Encaps...)
	case StatusObjectNotExist, StatusFacetNotExist, StatusOperationNotExist:
		dst = AppendTarget(dst, r.Identity, r.Facet)
		dst = AppendString(dst, r.Operation)
	default:
		dst = AppendString(dst, r.Text)
	}
	return PatchSize(dst, start, 0)
}

// BeginReply appends a Reply message up to its status. The caller appends the
// body and then calls PatchSize with the start returned.
func BeginReply(dst []byte, id int32, status Status) ([]byte, int) {
	start := len(dst)
	dst = AppendHeader(dst, Header{Type: MessageReply})
	dst = AppendInt32(dst, id)
	return append(dst, byte(status)), start
}

// Result is a place in a reply under construction, see BeginResult.
type Result struct {
	message, encaps int
}

// BeginResult appends a successful Reply message up to its results, which are
// encoded in the version of the request's parameters; versions this package
// can't write become 1.1. The caller appends the results (out parameters
// first, return value last) and then calls EndResult.
func BeginResult(dst []byte, id int32, encoding Version) ([]byte, Result) {
	dst, start := BeginReply(dst, id, StatusOK)
	dst, encaps := BeginEncapsulation(dst, writable(encoding))
	return dst, Result{message: start, encaps: encaps}
}

// EndResult sets the sizes of a reply begun with BeginResult and returns dst.
func EndResult(dst []byte, r Result) []byte {
	return PatchSize(EndEncapsulation(dst, r.encaps), r.message, 0)
}

// AppendEmptyReply appends a successful Reply message without results.
func AppendEmptyReply(dst []byte, id int32, encoding Version) []byte {
	dst, start := BeginReply(dst, id, StatusOK)
	return PatchSize(AppendEmptyEncapsulation(dst, writable(encoding)), start, 0)
}

// AppendNotExist appends a Reply message of status ObjectNotExist,
// FacetNotExist or OperationNotExist to the request r.
func AppendNotExist(dst []byte, status Status, r *Request) []byte {
	dst, start := BeginReply(dst, r.ID, status)
	dst = AppendTarget(dst, r.Identity, r.Facet)
	return PatchSize(AppendString(dst, r.Operation), start, 0)
}

// AppendUnknown appends a Reply message of status UnknownLocalException,
// UnknownUserException or UnknownException. The text is shown to users of
// the client: short and clear.
func AppendUnknown(dst []byte, id int32, status Status, text string) []byte {
	dst, start := BeginReply(dst, id, status)
	return PatchSize(AppendString(dst, text), start, 0)
}

// writable returns the version itself, or 1.1 where it isn't supported.
func writable(encoding Version) Version {
	if encoding.supported() {
		return encoding
	}
	return Encoding11
}
