package relay

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/rmr/proto"
)

// complainEvery is the shortest time between two equal lines about what
// peers do; those between are counted in the next.
const complainEvery = 10 * time.Second

// maxComplaints is how many lines are told apart at a time. Addresses beyond
// have one line together.
const maxComplaints = 100

// complaints logs what peers do wrong, not too often.
type complaints struct {
	log      hclog.Logger
	listener net.Addr

	mu  sync.Mutex
	all map[complaint]*said
}

// complaint is a message about whoever does something, or about one address.
type complaint struct {
	message string
	of      netip.Addr
}

type said struct {
	at       time.Time
	withheld int
}

func newComplaints(log hclog.Logger, listener net.Addr) complaints {
	return complaints{log: log, listener: listener, all: map[complaint]*said{}}
}

// warn logs a message, which is a constant.
func (c *complaints) warn(message string, pairs ...any) { c.warnOf(netip.Addr{}, message, pairs...) }

// warnOf logs a message, which is a constant, that lines about other
// addresses don't keep from being said.
func (c *complaints) warnOf(peer netip.Addr, message string, pairs ...any) {
	if withheld, ok := c.may(complaint{message, peer}, time.Now()); ok {
		c.log.Warn(message, append([]any{"listener", c.listener, "suppressed", withheld}, pairs...)...)
	}
}

// lostTo are the lines about messages that go nowhere, by reason.
var lostTo = map[Reason]string{
	NoEntry:      "message dropped, no route for its type",
	UnknownMEID:  "message dropped, nobody owns its MEID",
	DeadEndpoint: "message dropped, nobody is there to get it",
}

// lost tells of a message that goes nowhere. One line stands for all that an
// address lost for the same reason meanwhile.
func (c *complaints) lost(from netip.Addr, why Reason, m *proto.Message, peer net.Addr) {
	message, known := lostTo[why]
	if !known {
		return
	}
	withheld, ok := c.may(complaint{message, from}, time.Now())
	if !ok {
		return
	}
	c.log.Warn(message, "type", m.Type, "subid", m.SubID, "meid", string(m.MEID), "source", string(m.Src), "peer", peer, "listener", c.listener, "suppressed", withheld)
}

// may tells whether a line may be said now, and how many like it were not.
func (c *complaints) may(what complaint, now time.Time) (withheld int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[what]
	if one == nil && what.of.IsValid() && !c.room(now) {
		what.of = netip.Addr{}
		one = c.all[what]
	}
	if one != nil && now.Sub(one.at) < complainEvery {
		one.withheld++
		return 0, false
	}
	if one == nil {
		one = &said{}
		c.all[what] = one
	}
	withheld, one.at, one.withheld = one.withheld, now, 0
	return withheld, true
}

// room tells whether another address finds room, made by those long ago if need be.
func (c *complaints) room(now time.Time) bool {
	if len(c.all) < maxComplaints {
		return true
	}
	for what, one := range c.all {
		if what.of.IsValid() && now.Sub(one.at) >= complainEvery {
			delete(c.all, what)
		}
	}
	return len(c.all) < maxComplaints
}
