package ice

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// publishing is what rules call events: they come as operations of any name.
const publishing = "publish"

// words are the words that stand for several operations.
var words = map[string][]string{
	"read": {"getName", "getPublisher", "getNonReplicatedPublisher", "getLinkInfoSeq", "getSubscribers", "getLinkProxy", "retrieve", "retrieveAll",
		"getSliceChecksums", "getReplicaNode", "reap"},
	publishing:  {publishing, "forward"},
	"subscribe": {"subscribeAndGetPublisher", "unsubscribe"},
	"change":    {"create", "createOrRetrieve", "destroy", "link", "unlink"},
}

// wordNames are these words in the order people are told.
var wordNames = []string{"read", publishing, "subscribe", "change"}

// wordOf is the word that stands for an operation.
var wordOf = func() map[string]string {
	of := map[string]string{}
	for word, operations := range words {
		for _, o := range operations {
			of[o] = word
		}
	}
	return of
}()

// Access says who may call which operation over Ice. Where no rule is for an
// operation, everybody may who reaches the listener; so it is with the zero
// value. It never changes.
type Access struct {
	text  string
	rules map[string]callers // by operation
}

// callers are those that a rule lets in.
type callers struct {
	anybody     bool
	certificate bool     // whoever shows one
	names       []string // of certificates
	ranges      []netip.Prefix
}

// ParseAccess reads rules, each WHAT[,WHAT]=WHO[,WHO], with semicolons
// between. WHAT is an operation of IceStorm, or one of the words read,
// publish, subscribe and change, which stand for several; a rule for an
// operation counts more than one for its word. WHO is any, none, a range of
// addresses, cert for whoever shows a certificate, or cert:NAME for the
// certificate with that common name.
func ParseAccess(text string) (Access, error) {
	a := Access{text: text, rules: map[string]callers{}}
	if strings.TrimSpace(text) == "" {
		return Access{}, nil
	}
	exact := map[string]callers{}
	for rule := range strings.SplitSeq(text, ";") {
		what, who, ok := strings.Cut(rule, "=")
		if !ok {
			return Access{}, fmt.Errorf("rule %q: WHAT=WHO is meant", strings.TrimSpace(rule))
		}
		c, err := parseCallers(who)
		if err != nil {
			return Access{}, fmt.Errorf("rule %q: %w", strings.TrimSpace(rule), err)
		}
		for word := range strings.SplitSeq(what, ",") {
			word = strings.TrimSpace(word)
			into, operations := a.rules, words[word]
			if operations == nil {
				into, operations = exact, []string{word}
			}
			for _, o := range operations {
				if _, twice := into[o]; twice {
					return Access{}, fmt.Errorf("two rules are for %s", word)
				}
				if wordOf[o] == "" {
					return Access{}, fmt.Errorf("rule %q: %q is neither an operation of IceStorm nor one of %s", strings.TrimSpace(rule), o, strings.Join(wordNames, ", "))
				}
				into[o] = c
			}
		}
	}
	for o, c := range exact {
		a.rules[o] = c
	}
	return a, nil
}

func parseCallers(text string) (callers, error) {
	var c callers
	for who := range strings.SplitSeq(text, ",") {
		who = strings.TrimSpace(who)
		name, named := strings.CutPrefix(who, "cert:")
		switch {
		case who == "any":
			c.anybody = true
		case who == "none":
		case who == "cert":
			c.certificate = true
		case named && name != "":
			c.names = append(c.names, name)
		default:
			p, err := netip.ParsePrefix(who)
			if err != nil {
				return c, fmt.Errorf("%q is none of any, none, cert, cert:NAME and a range such as 10.0.0.0/8", who)
			}
			c.ranges = append(c.ranges, p.Masked())
		}
	}
	return c, nil
}

// String is the rules as they were written.
func (a Access) String() string { return a.text }

// Certificates tells whether a rule looks at certificates.
func (a Access) Certificates() bool {
	for _, c := range a.rules {
		if c.certificate || len(c.names) > 0 {
			return true
		}
	}
	return false
}

// let tells whether a rule lets the caller in.
func (c *callers) let(r *server.Request) bool {
	if c.anybody {
		return true
	}
	if name, shown := r.Certificate(); shown && (c.certificate || slices.Contains(c.names, name)) {
		return true
	}
	from := r.From()
	return slices.ContainsFunc(c.ranges, func(p netip.Prefix) bool { return p.Contains(from) })
}

// allow says why a request may not be made, nil: it may.
func (f *Face) allow(r *server.Request, s server.Servant) error {
	operation := string(r.Operation)
	switch s.(type) {
	case *publisher, *privatePublisher:
		operation = publishing
	}
	c, ruled := f.config.Access.rules[operation]
	if !ruled || c.let(r) {
		return nil
	}
	f.refusals.add(f, operation, r.Peer())
	return &proto.UnknownError{Status: proto.StatusUnknownException, Text: fmt.Sprintf("%s is not for %s: this node's --ice-allow says who may", operation, caller(r))}
}

// caller names who made a request, for audit lines and refusals.
func caller(r *server.Request) string {
	if name, shown := r.Certificate(); shown {
		return r.Peer() + " cert:" + strings.ReplaceAll(name, " ", "-")
	}
	return r.Peer()
}

// sayEvery is the least time between two lines about refused requests.
const sayEvery = 10 * time.Second

// refusals counts requests that were refused, by word, and logs some.
type refusals struct {
	counts [4]atomic.Uint64 // as wordNames

	mu     sync.Mutex
	silent uint64
	next   time.Time
}

func (x *refusals) add(f *Face, operation, peer string) {
	x.counts[slices.Index(wordNames, wordOf[operation])].Add(1)
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if now.Before(x.next) {
		x.silent++
		return
	}
	f.log.Warn("request refused by --ice-allow", "operation", operation, "peer", peer, "unreported_before", x.silent)
	x.silent, x.next = 0, now.Add(sayEvery)
}

// Refused returns how many requests Config.Access kept out, by the words that
// stand for several operations in its rules.
func (f *Face) Refused() map[string]uint64 {
	by := map[string]uint64{}
	for i, word := range wordNames {
		by[word] = f.refusals.counts[i].Load()
	}
	return by
}
