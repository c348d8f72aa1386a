package derive

import (
	"fmt"
	"slices"
	"strings"
)

// Config is what the old route manager reads from its file and derivation
// goes by. The zero value has no components and no platform routes, and the
// well-known numbers of messages.
type Config struct {
	MessageTypes []MessageType   `codec:"m,omitempty"`
	Components   []Component     `codec:"c,omitempty"`
	Routes       []PlatformRoute `codec:"r,omitempty"`
}

// MessageType gives a message name its number, in the place of the
// well-known one if there is one. Of two for one name the later holds.
type MessageType struct {
	Name   string `codec:"n"`
	Number int32  `codec:"t"`
}

// Component is a program of the platform, as SUBMAN, E2MAN, A1MEDIATOR. Of
// two of one name the later holds.
type Component struct {
	Name string `codec:"n" json:"name"`
	FQDN string `codec:"h" json:"fqdn"` // host name or IP address
	Port uint16 `codec:"p" json:"port"` // of its RMR listener
}

// Endpoint returns where the component takes messages, as host:port.
func (c Component) Endpoint() string { return Endpoint(c.FQDN, c.Port) }

// PlatformRoute is a fixed route.
type PlatformRoute struct {
	Message  string `codec:"m"`           // name of the message
	Sender   string `codec:"s,omitempty"` // name of a component, empty for everybody
	SubID    int32  `codec:"i"`           // -1 for any
	Endpoint string `codec:"e,omitempty"` // name of a component, unless ByMEID
	ByMEID   bool   `codec:"x,omitempty"` // the owner of the message's MEID gets it
}

// Empty says whether it is the zero value.
func (c Config) Empty() bool { return len(c.MessageTypes)+len(c.Components)+len(c.Routes) == 0 }

// Check returns an error if a component has no usable endpoint or a message
// no name. Names that routes use and nothing explains are no error: such
// routes are left out, see [Facts.Omitted].
func (c Config) Check() error {
	for _, m := range c.MessageTypes {
		if m.Name == "" {
			return fmt.Errorf("message type %d has no name", m.Number)
		}
	}
	for _, p := range c.Components {
		if p.Name == "" {
			return fmt.Errorf("component %s has no name", p.Endpoint())
		}
		if err := checkProgram(p.Endpoint()); err != nil {
			return fmt.Errorf("component %s: %w", p.Name, err)
		}
	}
	return nil
}

// own returns a copy that shares nothing with c: types and components sorted
// by name, one of each, routes in their order.
func (c Config) own() Config {
	return Config{
		MessageTypes: lastOf(c.MessageTypes, func(m MessageType) string { return m.Name }),
		Components:   lastOf(c.Components, func(p Component) string { return p.Name }),
		Routes:       clone(c.Routes),
	}
}

// number returns the number of a message.
func (c Config) number(message string) (int32, bool) {
	if i, ok := find(c.MessageTypes, message, func(m MessageType) string { return m.Name }); ok {
		return c.MessageTypes[i].Number, true
	}
	n, ok := wellKnown[message]
	return n, ok
}

// component returns the endpoint of a component.
func (c Config) component(name string) (string, bool) {
	i, ok := find(c.Components, name, func(p Component) string { return p.Name })
	if !ok {
		return "", false
	}
	return c.Components[i].Endpoint(), true
}

func (c Config) equal(o Config) bool {
	return slices.Equal(c.MessageTypes, o.MessageTypes) && slices.Equal(c.Components, o.Components) && slices.Equal(c.Routes, o.Routes)
}

// find returns the place of a name in a list sorted by name.
func find[T any](list []T, name string, of func(T) string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(t T, n string) int { return strings.Compare(of(t), n) })
}

// lastOf returns the last element of each name, sorted by name.
func lastOf[T any](list []T, of func(T) string) []T {
	list = clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b T) int { return strings.Compare(of(a), of(b)) })
	return slices.CompactFunc(list, func(a, b T) bool { return of(a) == of(b) })
}

// clone returns a copy of a list, nil for an empty one.
func clone[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return append(make([]T, 0, len(list)), list...)
}
