package topics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MessageCategory is the category of the Ice identities that stand for
// messages, beside those of topics.
const MessageCategory = "rmr"

// Messages is where a link leads whose events leave as RMR messages.
type Messages struct {
	// MType is their message type, 0 or above.
	MType int32 `codec:"m"`
	// SubID is their subscription id, -1 for none.
	SubID int32 `codec:"s"`
}

// ParseMessages reads MTYPE or MTYPE/SUBID, whole numbers of 31 bits.
func ParseMessages(text string) (Messages, error) {
	mtype, subid, limited := strings.Cut(text, "/")
	m, err := parseNumber("message type", mtype)
	if err != nil {
		return Messages{}, err
	}
	if !limited {
		return Messages{MType: m, SubID: -1}, nil
	}
	s, err := parseNumber("subscription id", subid)
	return Messages{MType: m, SubID: s}, err
}

func parseNumber(what, text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a whole number from 0 to %d", what, text, math.MaxInt32)
	}
	return int32(n), nil
}

// String returns what [ParseMessages] reads.
func (m Messages) String() string {
	text := strconv.FormatInt(int64(m.MType), 10)
	if m.SubID == -1 {
		return text
	}
	return text + "/" + strconv.FormatInt(int64(m.SubID), 10)
}

// Identity is what Ice tools show for it.
func (m Messages) Identity() Identity {
	return Identity{Name: m.String(), Category: MessageCategory}
}

// ToMessages returns the target of a link to messages.
func ToMessages(m Messages) Remote { return Remote{Identity: m.Identity(), Messages: &m} }

// check says what is wrong with a target outside the graph. That a message's
// numbers and its identity agree lets either stand for the target.
func (r *Remote) check() error {
	m := r.Messages
	if m == nil {
		return nil
	}
	if m.MType < 0 || m.SubID < -1 || r.Identity != m.Identity() || len(r.Proxy) > 0 || r.Cluster != "" || r.Topic != 0 {
		return &Error{Kind: ErrTarget, Name: r.Identity.Name, Detail: "a message type and perhaps a subscription id are due"}
	}
	return nil
}
