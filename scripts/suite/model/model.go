package model

import (
	"fmt"
	"maps"
	"strings"

	"floe/fsm"
	"floe/topics"
)

// Model is the state after some index. The zero value is no good; see [New].
type Model struct {
	// Index is that of the last entry.
	Index uint64 `json:"index"`
	// Topics maps names to ids, Links FROM>TO to costs.
	Topics map[string]uint64 `json:"topics"`
	Links  map[string]int32  `json:"links"`
	// Subscriptions maps TOPIC and identity to serials.
	Subscriptions map[string]uint64 `json:"subscriptions"`
	// Serial is the last number given to a topic, link or subscription.
	Serial uint64 `json:"serial"`
	// Routes maps TYPE|SUBID to groups, Owners MEIDs to their owners.
	Routes map[string]string `json:"routes"`
	Owners map[string]string `json:"owners"`
	// Version is that of the routes, 0 before the first; Loaded tells that
	// there was a whole table.
	Version uint64 `json:"version"`
	Loaded  bool   `json:"loaded"`

	made   map[topic]bool
	memory memory
	loads  map[uint64][]fsm.RouteBlock
	parts  map[uint64]int
}

// topic is one life of a topic.
type topic struct {
	name string
	id   uint64
}

// Made says whether there ever was a topic of that name and id.
func (m *Model) Made(name string, id uint64) bool { return m.made[topic{name, id}] }

// New returns the state before the first entry.
func New() *Model {
	return &Model{Topics: map[string]uint64{}, Links: map[string]int32{}, Subscriptions: map[string]uint64{},
		Routes: map[string]string{}, Owners: map[string]string{}, made: map[topic]bool{}}
}

// From returns the state of a view, to go on where a log begins.
func From(v *fsm.View) (*Model, error) {
	m := New()
	m.Index, m.Serial, m.Version, m.Loaded = v.Index, v.Graph.Serial(), v.Routes.Version, v.Routes.LoadedAt != 0
	for t := range v.Graph.All() {
		m.Topics[t.Name] = uint64(t.ID)
		for _, l := range t.Links {
			if l.Remote != nil {
				return nil, fmt.Errorf("topic %s: the model knows no links out of the cluster", t.Name)
			}
			m.Links[t.Name+">"+v.Graph.ByID(l.To).Name] = l.Cost
		}
		for i := range t.Subscriptions {
			m.Subscriptions[subscriptionKey(t.Name, t.Subscriptions[i].Identity)] = t.Subscriptions[i].Serial
		}
	}
	for e := range v.Routes.Loaded.Table.All() {
		m.Routes[routeKey(e.Key.MType, e.Key.SubID)] = groupText(e.ByMEID, e.Groups)
	}
	for meid, owner := range v.Routes.Loaded.MEIDs.All() {
		m.Owners[meid] = owner
	}
	return m, nil
}

func subscriptionKey(topic string, id topics.Identity) string {
	return topic + "\x00" + id.Category + "\x00" + id.Name
}

// Remember notes the request of an entry that the state holds already.
func (m *Model) Remember(index uint64, data []byte) error {
	c, err := fsm.DecodeCommand(data)
	if err == nil {
		m.memory.repeated(c, index)
	}
	return err
}

// Apply carries one command out. The error is for what the model can't follow,
// or can't read; a refusal is none.
func (m *Model) Apply(index uint64, data []byte) error {
	c, err := fsm.DecodeCommand(data)
	if err != nil {
		return fmt.Errorf("index %d: %w", index, err)
	}
	m.Index = index
	if m.memory.repeated(c, index) {
		return nil
	}
	if _, err := m.do(c.Op); err != nil {
		return fmt.Errorf("index %d: %w", index, err)
	}
	return nil
}

// do carries an op out, and says whether it was accepted.
func (m *Model) do(op fsm.Op) (bool, error) {
	switch o := op.(type) {
	case fsm.CreateTopic:
		return m.create(o.Name), nil
	case fsm.DestroyTopic:
		return m.destroy(o.Name), nil
	case fsm.Link:
		if o.Remote != nil {
			return false, fmt.Errorf("the model knows no links out of the cluster")
		}
		return m.link(o), nil
	case fsm.Unlink:
		return m.unlink(o.From, strings.TrimPrefix(o.Target.Name, "topic.")), nil
	case fsm.Subscribe:
		return m.subscribe(o), nil
	case fsm.Unsubscribe:
		delete(m.Subscriptions, subscriptionKey(o.Topic, o.Identity))
	case fsm.Reap:
		m.reap(o)
	case fsm.Batch:
		return m.batch(o)
	case fsm.ChangeRoutes:
		return m.changeRoutes(o.Blocks, o.If)
	case fsm.StageRoutes:
		m.stage(o)
	case fsm.CommitRoutes:
		return m.commit(o)
	case fsm.ChangeFacts, fsm.StageRestore, fsm.CommitRestore, fsm.SetCluster:
		return false, fmt.Errorf("the model can't follow a command of kind %d", op.Kind())
	}
	return true, nil // others touch neither topics nor routes
}

func (m *Model) create(name string) bool {
	if _, there := m.Topics[name]; there {
		return false
	}
	m.Serial++
	m.Topics[name] = m.Serial
	if m.made == nil { // it was read from a file
		m.made = map[topic]bool{}
	}
	m.made[topic{name, m.Serial}] = true
	return true
}

func (m *Model) destroy(name string) bool {
	if _, there := m.Topics[name]; !there {
		return false
	}
	delete(m.Topics, name)
	maps.DeleteFunc(m.Links, func(key string, _ int32) bool {
		from, to, _ := strings.Cut(key, ">")
		return from == name || to == name
	})
	maps.DeleteFunc(m.Subscriptions, func(key string, _ uint64) bool { return strings.HasPrefix(key, name+"\x00") })
	return true
}

func (m *Model) link(o fsm.Link) bool {
	_, from := m.Topics[o.From]
	_, to := m.Topics[o.To]
	key := o.From + ">" + o.To
	_, there := m.Links[key]
	if !from || !to || there && !o.Replace {
		return false
	}
	if !there {
		m.Serial++
	}
	m.Links[key] = o.Cost
	return true
}

func (m *Model) unlink(from, to string) bool {
	key := from + ">" + to
	_, there := m.Links[key]
	delete(m.Links, key)
	return there
}

func (m *Model) subscribe(o fsm.Subscribe) bool {
	key := subscriptionKey(o.Topic, o.Subscription.Identity)
	_, topic := m.Topics[o.Topic]
	_, there := m.Subscriptions[key]
	if !topic || there {
		return false
	}
	m.Serial++
	m.Subscriptions[key] = m.Serial
	return true
}

func (m *Model) reap(o fsm.Reap) {
	for _, v := range o.Verdicts {
		for name, id := range m.Topics {
			key := subscriptionKey(name, v.Identity)
			if id == uint64(v.Topic) && m.Subscriptions[key] == v.Serial {
				delete(m.Subscriptions, key)
			}
		}
	}
}

// batch carries all ops out, or none.
func (m *Model) batch(o fsm.Batch) (bool, error) {
	next := *m
	next.Topics, next.Links, next.Subscriptions = maps.Clone(m.Topics), maps.Clone(m.Links), maps.Clone(m.Subscriptions)
	next.Routes, next.Owners = maps.Clone(m.Routes), maps.Clone(m.Owners)
	for _, part := range o.Ops {
		done, err := next.do(part)
		if err != nil || !done {
			return false, err
		}
	}
	*m = next
	return true, nil
}
