package fsm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"floe/routing"
)

// MaxApps is how many apps may be registered.
const MaxApps = 20_000

// App is a program of the RMR library that asked for a route table.
type App struct {
	// Name is what it calls itself: HOST:PORT, with the port of its messages.
	Name string `codec:"n"`
	// Control are addresses (host:port) at which it takes tables, the best first.
	Control []string `codec:"c,omitempty"`
	// Node is the id of the node that serves it.
	Node string `codec:"o"`
	// Before is the id of the node that served it before Node, "" if none did
	// since Serial.
	Before string `codec:"b,omitempty"`
	// Serial is the index of its registration: an app that started anew has
	// another one, and holds nothing yet.
	Serial uint64 `codec:"s"`
	// Assigned is the index at which Node became the one to serve it.
	Assigned uint64 `codec:"as"`
	// Acked is the latest table version it acknowledged, as far as that was
	// committed; 0: none since Serial.
	Acked uint64 `codec:"a,omitempty"`
	// Asked is when it asked, in nanoseconds since 1970 by the clock of the
	// node it asked; for people.
	Asked int64 `codec:"t,omitempty"`
}

// Equal tells whether two apps are alike in everything.
func (a App) Equal(o App) bool {
	return a.Name == o.Name && slices.Equal(a.Control, o.Control) && a.Node == o.Node && a.Before == o.Before && a.Serial == o.Serial &&
		a.Assigned == o.Assigned && a.Acked == o.Acked && a.Asked == o.Asked
}

// RegisterApp records an app that asked for a table; the result's Serial is
// its new incarnation. One of that name that was there before is replaced.
type RegisterApp struct {
	Name    string   `codec:"n"`
	Control []string `codec:"c,omitempty"`
	Node    string   `codec:"o"`
	Time    int64    `codec:"t,omitempty"`
}

// ForgetApps removes apps that did not answer for long. The result's Count
// says how many.
type ForgetApps struct {
	Apps   []AppRef `codec:"a"`
	Reason string   `codec:"r,omitempty"`
}

// AppRef names one incarnation of an app; what is said of it is void for any
// other.
type AppRef struct {
	Name   string `codec:"n"`
	Serial uint64 `codec:"s"`
}

// AckApps notes what apps acknowledged, and lets go of deletions that every
// app has been told of.
type AckApps struct {
	Acks []AppAck `codec:"a"`
}

// AppAck says that an incarnation of an app holds a table version.
type AppAck struct {
	Name    string `codec:"n"`
	Serial  uint64 `codec:"s"`
	Version uint64 `codec:"v"`
}

// SetServing says which nodes serve apps: those of Out were found dead, those
// of In are back. It gives apps to other nodes in the same step.
type SetServing struct {
	Out    []string     `codec:"out,omitempty"`
	In     []string     `codec:"in,omitempty"`
	Assign []Assignment `codec:"as,omitempty"`
}

// Assignment gives an incarnation of an app to a node.
type Assignment struct {
	Name   string `codec:"n"`
	Serial uint64 `codec:"s"`
	Node   string `codec:"o"`
}

// Kind returns the number the op travels under.
func (RegisterApp) Kind() Kind { return KindRegisterApp }

// Kind returns the number the op travels under.
func (ForgetApps) Kind() Kind { return KindForgetApps }

// Kind returns the number the op travels under.
func (AckApps) Kind() Kind { return KindAckApps }

// Kind returns the number the op travels under.
func (SetServing) Kind() Kind { return KindSetServing }

// App returns the app of that name and whether it is registered.
func (v *View) App(name string) (App, bool) {
	i, found := findApp(v.Apps, name)
	if !found {
		return App{}, false
	}
	return v.Apps[i], true
}

func findApp(apps []App, name string) (int, bool) {
	return slices.BinarySearchFunc(apps, name, func(a App, name string) int { return strings.Compare(a.Name, name) })
}

// app returns the place of one incarnation of an app.
func (d *draft) app(name string, serial uint64) (int, bool) {
	i, found := findApp(d.Apps, name)
	return i, found && d.Apps[i].Serial == serial
}

func (o RegisterApp) apply(d *draft) (Result, error) {
	if o.Name == "" || len(o.Name) > routing.MaxEndpoint {
		return Result{}, &Refusal{Kind: ErrApp, Name: o.Name, Detail: fmt.Sprintf("a name has 1 to %d bytes", routing.MaxEndpoint)}
	}
	if _, known := d.App(o.Name); !known && len(d.Apps) >= MaxApps {
		return Result{}, &Refusal{Kind: ErrApp, Name: o.Name, Detail: fmt.Sprintf("%d are registered already", MaxApps)}
	}
	d.Apps = put(d.Apps, App{Name: o.Name, Control: o.Control, Node: o.Node, Serial: d.at, Assigned: d.at, Asked: o.Time},
		func(a App) string { return a.Name })
	return Result{Serial: d.at}, nil
}

func (o ForgetApps) apply(d *draft) (Result, error) {
	gone := map[AppRef]bool{}
	for _, a := range o.Apps {
		gone[a] = true
	}
	left := slices.DeleteFunc(slices.Clone(d.Apps), func(a App) bool { return gone[AppRef{a.Name, a.Serial}] })
	r := Result{Count: len(d.Apps) - len(left)}
	d.Apps = left
	d.letGo()
	return r, nil
}

func (o AckApps) apply(d *draft) (Result, error) {
	d.Apps = slices.Clone(d.Apps)
	for _, a := range o.Acks {
		if i, same := d.app(a.Name, a.Serial); same {
			d.Apps[i].Acked = max(d.Apps[i].Acked, a.Version)
		}
	}
	d.letGo()
	return Result{}, nil
}

// lateTables is how many log entries a deletion is remembered for after every
// app was told: a table that left a node before may still be on its way, held
// up by the network, and bring the MEID back.
const lateTables = 16_384

// letGo drops the deletions that every app has been told of, a while ago.
func (d *draft) letGo() {
	if d.Routes.Gone.Len() == 0 || d.at <= lateTables {
		return
	}
	told := d.at - lateTables
	for _, a := range d.Apps {
		told = min(told, a.Acked)
	}
	d.Routes.Gone = d.Routes.Gone.Prune(told)
}

func (o SetServing) apply(d *draft) (Result, error) {
	out := without(union(d.Distribution.Out, o.Out), o.In)
	if !slices.Equal(out, d.Distribution.Out) {
		d.Distribution.Out, d.Distribution.Version = out, d.at
	}
	if len(o.Assign) > 0 {
		d.Apps = slices.Clone(d.Apps)
	}
	for _, a := range o.Assign {
		if i, same := d.app(a.Name, a.Serial); same && d.Apps[i].Node != a.Node {
			d.Apps[i].Before, d.Apps[i].Node, d.Apps[i].Assigned = d.Apps[i].Node, a.Node, d.at
		}
	}
	return Result{}, nil
}

// union returns what is in either list, sorted.
func union[E cmp.Ordered](a, b []E) []E {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// without returns what is in a and not in b.
func without[E cmp.Ordered](a, b []E) []E {
	return slices.DeleteFunc(slices.Clone(a), func(e E) bool { return slices.Contains(b, e) })
}
