package relay

import (
	"net"
	"slices"

	"floe/fsm"
	"floe/routing"
)

// apps tells under which other names a sender is known, from the
// registrations. It never changes.
type apps struct {
	version uint64 // grows with each change
	from    []fsm.App
	// by leads from a name or address to the app that has it; nil: several have.
	by map[string]*app
}

// app is one registered application.
type app struct {
	name      string
	endpoints []string // at which it may take messages, its name among them
}

// compileApps returns old if the same apps are registered.
func compileApps(from []fsm.App, old *apps) *apps {
	if old != nil && slices.EqualFunc(from, old.from, func(a, b fsm.App) bool { return a.Name == b.Name && a.Serial == b.Serial }) {
		return old
	}
	a := &apps{version: 1, from: from, by: make(map[string]*app, 4*len(from))}
	if old != nil {
		a.version = old.version + 1
	}
	all := make([]*app, len(from))
	for i := range from {
		all[i] = newApp(&from[i])
		// Messages of its own, such as alarms, bear the control address.
		for _, known := range slices.Concat(all[i].endpoints, from[i].Control) {
			a.add(known, all[i])
		}
	}
	for _, one := range all {
		a.by[one.name] = one // names are unique, whatever else leads to them
	}
	return a
}

// add has a name or address lead to an app, or to nobody if another has it
// too: apps behind one address translator, or on one host with one control port.
func (a *apps) add(known string, one *app) {
	if other, taken := a.by[known]; taken && other != one {
		one = nil
	}
	a.by[known] = one
}

func newApp(from *fsm.App) *app {
	one := &app{name: from.Name, endpoints: []string{from.Name}}
	_, port, err := net.SplitHostPort(from.Name)
	if err != nil {
		return one
	}
	for _, control := range from.Control {
		host, _, err := net.SplitHostPort(control)
		if endpoint := net.JoinHostPort(host, port); err == nil && !slices.Contains(one.endpoints, endpoint) {
			one.endpoints = append(one.endpoints, endpoint)
		}
	}
	return one
}

// origin is a sender as its messages name it.
type origin struct {
	routing.Sender
	own []string // endpoints that are its own
}

// origin returns the sender of messages with a source and a source address.
func (a *apps) origin(src, srcIP string) *origin {
	o := &origin{Sender: routing.Sender{Source: src, Address: srcIP}, own: []string{src, srcIP}}
	known := a.by[src]
	if known == nil {
		known = a.by[srcIP]
	}
	if known == nil {
		return o
	}
	o.Name = known.name
	for _, endpoint := range known.endpoints {
		if a.by[endpoint] == known && !slices.Contains(o.own, endpoint) {
			o.own = append(o.own, endpoint)
		}
	}
	return o
}

// has tells whether an endpoint is the sender's own.
func (o *origin) has(endpoint string) bool { return slices.Contains(o.own, endpoint) }
