package fsm

import (
	"slices"

	"floe/routing"
	"floe/topics"
)

// Change is one command that made a difference, or a change of the group.
type Change struct {
	// Index is the Raft index of the change.
	Index uint64 `codec:"x"`
	// Time is the clock of the node that was asked, in nanoseconds since 1970;
	// 0 for a change of the group. From says who asked, a face and an address.
	Time int64  `codec:"t,omitempty"`
	From string `codec:"f,omitempty"`
	// Kind is that of the op, 0 for a change of the group.
	Kind Kind `codec:"k,omitempty"`
	// ByNode is true for what a node did by itself.
	ByNode bool `codec:"n,omitempty"`
	// Name is what an op of neither graph nor routes is about.
	Name string `codec:"a,omitempty"`
	// Was is the index that graph and routes were brought back to, by a revert.
	Was uint64 `codec:"w,omitempty"`

	Topics        []TopicChange        `codec:"ct,omitempty"`
	Links         []LinkChange         `codec:"cl,omitempty"`
	Subscriptions []SubscriptionChange `codec:"cs,omitempty"`
	Routes        []RouteChange        `codec:"cr,omitempty"`
	MEIDs         []MEIDChange         `codec:"cm,omitempty"`
	Servers       []ServerChange       `codec:"cv,omitempty"`
	// Cut says that the details are too many to be kept and that those above
	// are only some. NRoutes and NMEIDs are how many keys and MEIDs there
	// were, perhaps counting some twice.
	Cut     bool `codec:"c,omitempty"`
	NRoutes int  `codec:"nr,omitempty"`
	NMEIDs  int  `codec:"nm,omitempty"`
}

// TopicChange is a topic that was made, or destroyed.
type TopicChange struct {
	Name string    `codec:"n"`
	ID   topics.ID `codec:"i"`
	Made bool      `codec:"m,omitempty"`
}

// LinkChange is a link that was made (Was nil), removed (Is nil), or given
// another cost or address.
type LinkChange struct {
	From string `codec:"f"`
	// To is the name of the target inside the graph, empty for others.
	To  string       `codec:"t,omitempty"`
	Was *topics.Link `codec:"w,omitempty"`
	Is  *topics.Link `codec:"i,omitempty"`
}

// Target returns the link that says where it leads.
func (c *LinkChange) Target() topics.Link {
	if c.Is != nil {
		return *c.Is
	}
	return *c.Was
}

// SubscriptionChange is a subscription that was made, or removed.
type SubscriptionChange struct {
	Topic    string          `codec:"t"`
	Identity topics.Identity `codec:"i"`
	Made     bool            `codec:"m,omitempty"`
	// Was is what it was where its topic was destroyed.
	Was *topics.Subscription `codec:"w,omitempty"`
}

// RouteChange is a key of the route table with its entries before and after.
// Derived ones follow from facts and were not loaded.
type RouteChange struct {
	MType   int32         `codec:"m"`
	SubID   int32         `codec:"s"`
	Derived bool          `codec:"d,omitempty"`
	Was     []RouteRecord `codec:"w,omitempty"`
	Is      []RouteRecord `codec:"i,omitempty"`
}

// Key returns the key.
func (c *RouteChange) Key() routing.Key { return routing.Key{MType: c.MType, SubID: c.SubID} }

// MEIDChange is an MEID with its owner before and after, "" for none.
// Derived as in [RouteChange].
type MEIDChange struct {
	MEID    string `codec:"m"`
	Derived bool   `codec:"d,omitempty"`
	Was     string `codec:"w,omitempty"`
	Is      string `codec:"i,omitempty"`
}

// ServerChange is a node of the group: "", "voter" or "non-voter", before and
// after.
type ServerChange struct {
	ID  string `codec:"n"`
	Was string `codec:"w,omitempty"`
	Is  string `codec:"i,omitempty"`
}

// OfContent tells whether the change was one of the graph or of the routes.
func (c *Change) OfContent() bool {
	return c.Cut || c.Kind == KindCommitRestore || len(c.Topics)+len(c.Links)+len(c.Subscriptions)+len(c.Routes)+len(c.MEIDs) > 0
}

// Touches tells whether the change has to do with a topic. Of a cut change
// not all is known.
func (c *Change) Touches(topic string) bool {
	return slices.ContainsFunc(c.Topics, func(t TopicChange) bool { return t.Name == topic }) ||
		slices.ContainsFunc(c.Links, func(l LinkChange) bool { return l.From == topic || l.To == topic && l.Target().Remote == nil }) ||
		slices.ContainsFunc(c.Subscriptions, func(s SubscriptionChange) bool { return s.Topic == topic })
}

// TopicNames returns the topics that the change has to do with, sorted.
func (c *Change) TopicNames() []string {
	var names []string
	for _, t := range c.Topics {
		names = append(names, t.Name)
	}
	for i := range c.Links {
		l := &c.Links[i]
		if names = append(names, l.From); l.Target().Remote == nil {
			names = append(names, l.To)
		}
	}
	for _, s := range c.Subscriptions {
		names = append(names, s.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// differs tells whether there is anything to remember.
func (c *Change) differs() bool {
	if !c.ByNode {
		return true
	}
	switch c.Kind {
	case 0, KindReap:
		return c.OfContent() || len(c.Servers) > 0
	case KindInit, KindSetMember, KindDropMember, KindRaiseVersion:
		return true
	}
	return false
}

// size is about how many bytes the change takes.
func (c *Change) size() int {
	n := 100 + len(c.From) + len(c.Name)
	for i := range c.Topics {
		n += c.Topics[i].size()
	}
	for i := range c.Links {
		n += c.Links[i].size()
	}
	for i := range c.Subscriptions {
		n += c.Subscriptions[i].size()
	}
	for i := range c.Routes {
		n += c.Routes[i].size()
	}
	for i := range c.MEIDs {
		n += c.MEIDs[i].size()
	}
	return n + 50*len(c.Servers)
}

func (c *TopicChange) size() int { return 40 + len(c.Name) }

func (c *LinkChange) size() int {
	n := 50 + len(c.From) + len(c.To)
	for _, l := range []*topics.Link{c.Was, c.Is} {
		if l != nil {
			n += 40
		}
		if l != nil && l.Remote != nil {
			n += 80 + len(l.Remote.Proxy) + len(l.Remote.Cluster) + len(l.Remote.Identity.Name) + len(l.Remote.Identity.Category)
		}
	}
	return n
}

func (c *SubscriptionChange) size() int {
	n := 60 + len(c.Topic) + len(c.Identity.Name) + len(c.Identity.Category)
	if s := c.Was; s != nil {
		n += 60 + len(s.Proxy)
		for _, q := range s.QoS {
			n += 32 + len(q.Key) + len(q.Value)
		}
	}
	return n
}

func (c *RouteChange) size() int {
	n := 60
	for i := range c.Was {
		n += 100 + c.Was[i].size()
	}
	for i := range c.Is {
		n += 100 + c.Is[i].size()
	}
	return n
}

func (c *MEIDChange) size() int { return 50 + len(c.MEID) + len(c.Was) + len(c.Is) }
