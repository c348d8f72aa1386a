package derive

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"floe/routing"
)

// XApp is an application as the application manager lists it.
type XApp struct {
	Name      string     `codec:"n" json:"name"`
	Status    string     `codec:"s,omitempty" json:"status"`
	Version   string     `codec:"v,omitempty" json:"version"`
	Instances []Instance `codec:"i,omitempty" json:"instances"`
}

// Instance is a running copy of an xApp.
type Instance struct {
	Name     string   `codec:"n,omitempty" json:"name"`
	Status   string   `codec:"s,omitempty" json:"status"`
	IP       string   `codec:"a,omitempty" json:"ip"`         // address or host name
	Port     uint16   `codec:"p,omitempty" json:"port"`       // of its RMR listener
	Tx       []string `codec:"t,omitempty" json:"txMessages"` // names of messages it sends
	Rx       []string `codec:"r,omitempty" json:"rxMessages"` // names of messages it takes
	Policies []int32  `codec:"l,omitempty" json:"policies"`   // policy types it takes
}

// Endpoint returns where the instance takes messages, as host:port.
func (i Instance) Endpoint() string { return Endpoint(i.IP, i.Port) }

func (i Instance) equal(o Instance) bool {
	return i.Name == o.Name && i.Status == o.Status && i.IP == o.IP && i.Port == o.Port &&
		slices.Equal(i.Tx, o.Tx) && slices.Equal(i.Rx, o.Rx) && slices.Equal(i.Policies, o.Policies)
}

func (x XApp) equal(o XApp) bool {
	return x.Name == o.Name && x.Status == o.Status && x.Version == o.Version &&
		slices.EqualFunc(x.Instances, o.Instances, Instance.equal)
}

// ownXApps returns a sorted copy. The order of the application manager's list
// says nothing, and where the last record wins it must always be the same.
func ownXApps(list []XApp) []XApp {
	list = clone(list)
	for i := range list {
		list[i].Instances = clone(list[i].Instances)
		for j := range list[i].Instances {
			in := &list[i].Instances[j]
			in.Tx, in.Rx, in.Policies = sorted(in.Tx), sorted(in.Rx), sorted(in.Policies)
		}
		slices.SortStableFunc(list[i].Instances, func(a, b Instance) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Endpoint(), b.Endpoint()))
		})
	}
	slices.SortStableFunc(list, func(a, b XApp) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// sorted returns a sorted copy with one of each, nil for an empty list.
func sorted[T cmp.Ordered](list []T) []T {
	list = clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Endpoint returns host:port, an IPv6 address in brackets.
func Endpoint(host string, port uint16) string {
	if strings.Contains(host, ":") && host[0] != '[' {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

// checkProgram returns an error unless a program can be at an endpoint: a
// topic takes messages, but is none.
func checkProgram(endpoint string) error {
	if _, topic := routing.Topic(endpoint); topic {
		return errors.New("a topic is no program")
	}
	return routing.CheckEndpoint(endpoint)
}
