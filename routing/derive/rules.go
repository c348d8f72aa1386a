package derive

import (
	"fmt"
	"slices"

	"floe/routing"
)

// Components that the rules name.
const (
	submgr = "SUBMAN"
	e2mgr  = "E2MAN"
)

// toE2Ts are the messages that the E2 manager sends to every E2T.
var toE2Ts = []string{
	"RIC_SCTP_CLEAR_ALL", "E2_TERM_KEEP_ALIVE_REQ", "RIC_E2_SETUP_RESP", "RIC_E2_SETUP_FAILURE",
	"RIC_SERVICE_UPDATE_ACK", "RIC_SERVICE_UPDATE_FAILURE",
	"RIC_E2NODE_CONFIG_UPDATE_ACK", "RIC_E2NODE_CONFIG_UPDATE_FAILURE", "RIC_E2_RESET_RESP",
}

// fixed are the messages an xApp takes by other rules than for having asked.
var fixed = map[string]bool{
	"RIC_SUB_RESP": true, "RIC_SUB_FAILURE": true, "RIC_SUB_DEL_RESP": true, "RIC_SUB_DEL_FAILURE": true,
	"RIC_SUB_DEL_REQUIRED": true, "RIC_INDICATION": true, "RIC_CONTROL_ACK": true, "RIC_CONTROL_FAILURE": true,
	"A1_POLICY_REQ": true,
}

// ruling makes the records of the rules, in their order.
type ruling struct {
	config  Config
	records map[routing.Key][]routing.Record
	omitted []string
}

// where is who gets a message, and from whom.
type where struct {
	sender string // component or endpoint, empty for everybody
	byMEID bool
	groups [][]string
}

// add makes one record, or leaves it out and says why.
func (r *ruling) add(message string, subID int32, w where) {
	mtype, ok := r.config.number(message)
	if !ok {
		r.omit(message, subID, "no message of that name is known")
		return
	}
	if len(w.groups) > routing.MaxGroups {
		r.omit(message, subID, fmt.Sprintf("only the first %d of %d receivers get it: a program reads no more", routing.MaxGroups, len(w.groups)))
		w.groups = w.groups[:routing.MaxGroups]
	}
	key := routing.Key{MType: mtype, SubID: subID}
	record := routing.Record{Verb: routing.Route, Key: key, ByMEID: w.byMEID, Groups: w.groups}
	if w.sender != "" {
		record.Senders = []string{w.sender}
	}
	if err := record.Check(); err != nil {
		r.omit(message, subID, err.Error())
		return
	}
	r.records[key] = append(r.records[key], record)
}

func (r *ruling) omit(message string, subID int32, why string) {
	r.omitted = append(r.omitted, omission(message, subID, why))
}

func omission(message string, subID int32, why string) string {
	return fmt.Sprintf("%s, subscription id %d: %s", message, subID, why)
}

func unknownComponent(name string) string { return fmt.Sprintf("component %q is not known", name) }

// component resolves a name, or leaves the record of the message out.
func (r *ruling) component(name, message string, subID int32) (string, bool) {
	at, ok := r.config.component(name)
	if !ok {
		r.omit(message, subID, unknownComponent(name))
	}
	return at, ok
}

func to(endpoint string) [][]string { return [][]string{{endpoint}} }

// each returns a group for each endpoint: every one gets a copy.
func each(endpoints []string) [][]string {
	groups := make([][]string, len(endpoints))
	for i, e := range endpoints {
		groups[i] = []string{e}
	}
	return groups
}

func (r *ruling) platform(p PlatformRoute) {
	w := where{byMEID: p.ByMEID}
	var ok bool
	if p.Sender != "" {
		if w.sender, ok = r.component(p.Sender, p.Message, p.SubID); !ok {
			return
		}
	}
	if !p.ByMEID && p.Endpoint == "" {
		r.omit(p.Message, p.SubID, "it has neither an endpoint nor %meid")
		return
	}
	if !p.ByMEID {
		at, ok := r.component(p.Endpoint, p.Message, p.SubID)
		if !ok {
			return
		}
		w.groups = to(at)
	}
	r.add(p.Message, p.SubID, w)
}

func (r *ruling) e2ts(addresses []string) {
	if len(addresses) == 0 {
		return
	}
	for _, m := range toE2Ts {
		if at, ok := r.component(e2mgr, m, routing.AnySubID); ok {
			r.add(m, routing.AnySubID, where{sender: at, groups: each(addresses)})
		}
	}
	const reset = "RIC_E2_RESET_REQ"
	if at, ok := r.component(e2mgr, reset, routing.AnySubID); ok {
		r.add(reset, routing.AnySubID, where{groups: to(at)})
	}
}

// xapps makes the records of all xApps. Of the answers to control requests
// the last xApp gets all that bear no subscription id: the rules want it so.
func (r *ruling) xapps(list []XApp) {
	instances := r.usable(list)
	for _, in := range instances {
		if len(in.Tx)+len(in.Rx) > 0 {
			r.instance(in.Endpoint())
		}
	}
	r.policies(instances)
	r.between(instances)
}

// usable returns the instances that have an endpoint.
func (r *ruling) usable(list []XApp) []Instance {
	var instances []Instance
	for _, x := range list {
		for _, in := range x.Instances {
			if err := checkProgram(in.Endpoint()); err != nil {
				r.omitted = append(r.omitted, fmt.Sprintf("xApp %s, instance %q: %v", x.Name, in.Name, err))
				continue
			}
			instances = append(instances, in)
		}
	}
	return instances
}

func (r *ruling) instance(at string) {
	for _, m := range []string{"RIC_SUB_REQ", "RIC_SUB_DEL_REQ"} {
		if manager, ok := r.component(submgr, m, routing.AnySubID); ok {
			r.add(m, routing.AnySubID, where{sender: at, groups: to(manager)})
		}
	}
	r.add("RIC_CONTROL_REQ", routing.AnySubID, where{sender: at, byMEID: true})
	r.add("RIC_CONTROL_ACK", routing.AnySubID, where{groups: to(at)})
	r.add("RIC_CONTROL_FAILURE", routing.AnySubID, where{groups: to(at)})
}

// policies gives each policy type to every xApp that takes it.
func (r *ruling) policies(instances []Instance) {
	takers := map[int32][]string{}
	for _, in := range instances {
		for _, p := range in.Policies {
			takers[p] = append(takers[p], in.Endpoint())
		}
	}
	for _, p := range keysOf(takers) {
		r.add("A1_POLICY_REQ", p, where{groups: each(sorted(takers[p]))})
	}
}

// between makes the records of messages that xApps send each other. One
// receiver gets them from the xApps that say they send them, or from
// everybody if none says so; several get a copy each, from everybody.
func (r *ruling) between(instances []Instance) {
	senders, receivers := map[string][]string{}, map[string][]string{}
	for _, in := range instances {
		for _, m := range in.Tx {
			senders[m] = append(senders[m], in.Endpoint())
		}
		for _, m := range in.Rx {
			if !fixed[m] {
				receivers[m] = append(receivers[m], in.Endpoint())
			}
		}
	}
	for _, m := range keysOf(receivers) {
		takers := sorted(receivers[m])
		from := slices.DeleteFunc(sorted(senders[m]), func(s string) bool { return s == takers[0] })
		if len(takers) > 1 || len(from) == 0 {
			from = []string{""}
		}
		for _, s := range from {
			r.add(m, routing.AnySubID, where{sender: s, groups: each(takers)})
		}
	}
}
