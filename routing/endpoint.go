package routing

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TopicPrefix opens an endpoint that is a topic of the cluster.
const TopicPrefix = "topic:"

// marker stands in the place of the groups where the MEID decides.
const marker = "%meid"

var (
	errEmptyMember    = errors.New("empty member: a program dies when it sends to it")
	errEmptyMEID      = errors.New("empty MEID")
	errEmptySender    = errors.New("empty sender: the list would be for nobody")
	errNoEndpoint     = errors.New("no endpoint")
	errMixedTopics    = errors.New("topics in several groups, and endpoints beside one of them: give topics a group of their own")
	errMarkerNotAlone = errors.New("%meid stands alone, without groups")
)

func tooManyGroups(n int) error {
	return fmt.Errorf("%d groups: a program reads at most %d", n, MaxGroups)
}

func tooManyMembers(n int) error {
	return fmt.Errorf("%d endpoints in a group: a program keeps %d", n, MaxMembers)
}

// Topic returns the name of the topic that an endpoint stands for.
func Topic(endpoint string) (name string, ok bool) {
	return strings.CutPrefix(endpoint, TopicPrefix)
}

// CheckTopics returns an error unless it can be told which topics a message
// is for that a program sent to floe in their place: with topics in several
// groups, none of these may name endpoints as well.
func CheckTopics(groups [][]string) error {
	with, mixed := 0, false
	for _, g := range groups {
		topics := 0
		for _, m := range g {
			if _, ok := Topic(m); ok {
				topics++
			}
		}
		if topics > 0 {
			with++
			mixed = mixed || topics < len(g)
		}
	}
	if with > 1 && mixed {
		return errMixedTopics
	}
	return nil
}

// CheckEndpoint returns an error unless s can be a member of a group:
// host:port, [IPv6]:port or topic:NAME.
func CheckEndpoint(s string) error {
	if name, ok := Topic(s); ok {
		return checkTopic(name)
	}
	return checkAddress(s, "endpoint")
}

// CheckOwner returns an error unless s can own MEIDs: host:port or
// [IPv6]:port.
func CheckOwner(s string) error { return checkAddress(s, "owner") }

// CheckSender returns an error unless an entry can be limited to s. A sender
// is compared byte by byte and never dialled, so it needs no port to be a
// sender, though without one it matches no program.
func CheckSender(s string) error {
	if s == "" {
		return errEmptySender
	}
	return checkWord(s, "sender")
}

// CheckMEID returns an error unless a message can carry the MEID.
func CheckMEID(s string) error {
	switch {
	case s == "":
		return errEmptyMEID
	case len(s) > MaxMEID:
		return fmt.Errorf("MEID %s has %d bytes: a message carries at most %d", quote(s), len(s), MaxMEID)
	}
	return checkWord(s, "MEID")
}

func checkAddress(s, what string) error {
	if s == "" {
		return fmt.Errorf("empty %s", what)
	}
	if err := checkWord(s, what); err != nil {
		return err
	}
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 || !isPort(s[colon+1:]) {
		return fmt.Errorf("%s %s has no port: write host:port", what, quote(s))
	}
	return checkHost(s[:colon], s, what)
}

func checkHost(host, s, what string) error {
	if host == "" {
		return fmt.Errorf("%s %s has no host", what, quote(s))
	}
	if host[0] == '[' || host[len(host)-1] == ']' {
		inner := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
		if a, err := netip.ParseAddr(inner); len(inner) != len(host)-2 || err != nil || !a.Is6() {
			return fmt.Errorf("%s %s: no IPv6 address between [ and ]", what, quote(s))
		}
		return nil
	}
	if strings.IndexByte(host, ':') >= 0 {
		return fmt.Errorf("%s %s: write an IPv6 address as [address]:port", what, quote(s))
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// checkWord refuses what the text form can't carry as one word.
func checkWord(s, what string) error {
	if len(s) > MaxEndpoint {
		return fmt.Errorf("%s of %d bytes, at most %d", what, len(s), MaxEndpoint)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %s is not UTF-8 text", what, quote(s))
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '#':
			return fmt.Errorf("# glued to %s: a comment needs a blank before it", quote(s))
		case c <= ' ' || c == 0x7f:
			return fmt.Errorf("%s %s contains a blank or control character", what, quote(s))
		case c == '|' || c == ',' || c == ';':
			return fmt.Errorf("%s %s contains %q", what, quote(s), c)
		}
	}
	return nil
}

// checkTopic refuses names that can't stand in a table. Blanks inside one
// are fine.
func checkTopic(name string) error {
	switch {
	case len(name) > 255 || !utf8.ValidString(name):
		return fmt.Errorf("no topic has the name %s: it must be UTF-8 text of at most 255 bytes", quote(name))
	case strings.TrimFunc(name, isBlankRune) != name:
		return fmt.Errorf("topic name %s begins or ends with a blank: a table can't hold it", quote(name))
	}
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == 0x7f || strings.IndexByte("|,;#", c) >= 0 {
			return fmt.Errorf("topic name %s contains %q: a table can't hold it", quote(name), c)
		}
	}
	return nil
}

func isBlankRune(r rune) bool { return r < 0x80 && isBlank(byte(r)) }

// quote returns s quoted, cut to what a line of output bears.
func quote(s string) string {
	if len(s) > 64 {
		return strconv.Quote(s[:64]) + "..."
	}
	return strconv.Quote(s)
}
