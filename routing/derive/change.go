package derive

import "fmt"

// Kind says what a change is about. Numbers are never reused.
type Kind uint8

// The kinds of change, and which fields each uses.
const (
	// SetConfig: Config is what derivation goes by from now on.
	SetConfig Kind = 1
	// SetXApps: XApps are all there are.
	SetXApps Kind = 2
	// Subscribe: the xApp at Endpoint takes part in subscription SubID.
	Subscribe Kind = 3
	// Unsubscribe: the xApp at Endpoint does so no longer.
	Unsubscribe Kind = 4
	// SetSubscription: Endpoints are all that take part in SubID; none ends it.
	SetSubscription Kind = 5
	// SetSubscriptions: Subscriptions are all there are. With Base it holds
	// only if they are still at that mark.
	SetSubscriptions Kind = 6
	// PutE2T: there is an E2 termination at E2T, and it owns RANs, too.
	PutE2T Kind = 7
	// DropE2T: there is none any more. What it owns has no owner then.
	DropE2T Kind = 8
	// Associate: E2T owns RANs, whoever owned them before.
	Associate Kind = 9
	// Dissociate: E2T owns RANs no longer, no RANs: it owns none. Those of
	// another owner stay with it.
	Dissociate Kind = 10
	// SetE2Ts: E2Ts are all there are, and own what they list; Owners own
	// what they list without being E2Ts that are known; nobody owns anything
	// else. With Base it holds only if all is still at that mark.
	SetE2Ts Kind = 11
	// AddRoute: Route holds, before all else of its key and senders.
	AddRoute Kind = 12
	// DeleteRoute: Route, which was added in these words, is dropped.
	DeleteRoute Kind = 13
	// PutXApps: XApps are there, each in the place of one of its name.
	PutXApps Kind = 14
	// DropXApps: the xApps with the names of XApps are gone.
	DropXApps Kind = 15
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case SetConfig:
		return "configuration"
	case SetXApps, PutXApps, DropXApps:
		return "xApps"
	case Subscribe, Unsubscribe, SetSubscription:
		return "subscription"
	case SetSubscriptions:
		return "subscriptions"
	case PutE2T, DropE2T:
		return "E2T"
	case Associate:
		return "association"
	case Dissociate:
		return "dissociation"
	case SetE2Ts:
		return "E2Ts"
	case AddRoute, DeleteRoute:
		return "route"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Change is one change of the facts.
type Change struct {
	Kind          Kind           `codec:"k"`
	Config        *Config        `codec:"c,omitempty"`
	XApps         []XApp         `codec:"x,omitempty"`
	SubID         int32          `codec:"s,omitempty"`
	Endpoint      string         `codec:"e,omitempty"` // host:port
	Endpoints     []string       `codec:"l,omitempty"` // host:port each
	Subscriptions []Subscription `codec:"u,omitempty"`
	E2T           string         `codec:"t,omitempty"` // host:port
	RANs          []string       `codec:"n,omitempty"` // MEIDs, up to 31 bytes each
	E2Ts          []E2T          `codec:"d,omitempty"`
	Owners        []E2T          `codec:"o,omitempty"`
	Route         *Route         `codec:"r,omitempty"`
	// Base is the [Facts.Mark] that a whole set was compared with. Empty is
	// no condition.
	Base string `codec:"b,omitempty"`
}

// Subscription is who takes part in a subscription.
type Subscription struct {
	SubID     int32    `codec:"i"`
	Endpoints []string `codec:"e"` // host:port, sorted
}

// E2T is an E2 termination and the RANs connected to it.
type E2T struct {
	Address string   `codec:"a"`           // host:port
	RANs    []string `codec:"r,omitempty"` // MEIDs
}

// Route is a route made by hand.
type Route struct {
	MType   int32      `codec:"m"`
	SubID   int32      `codec:"i"`           // -1 for any
	Senders []string   `codec:"s,omitempty"` // host:port each, none for everybody
	ByMEID  bool       `codec:"x,omitempty"` // the owner of the message's MEID gets it
	Groups  [][]string `codec:"g,omitempty"` // otherwise: each group gets a copy, its members take turns
}
