package nbi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"floe/routing"
	"floe/routing/derive"
)

// Found is what an old route manager left behind, as changes of the facts.
type Found struct {
	// Changes make the facts what the old manager knew. Those that are so
	// already are among them, and change nothing.
	Changes []derive.Change
	// Facts say in words what was found.
	Facts []string
	// Notes say in words what will not be as it was.
	Notes []string
}

// Read reads what an old route manager left behind: its configuration file
// (see [ParseFile]), its answer to getdebuginfo, or both. now are the facts
// that the changes are for.
//
// The answer holds xApps, E2Ts and components as such. Subscriptions are read
// from the routes of RIC_SUB_RESP, which the old manager makes for nothing
// else. A route of its table that does not follow from all these becomes one
// made by hand, so that nobody loses messages.
func Read(now *derive.Facts, texts []string) (Found, error) {
	var f Found
	config := now.Config()
	var answer *debugInfo
	for i, text := range texts {
		d, is := readDebugInfo(text)
		switch {
		case is && answer != nil:
			return Found{}, errors.New("two answers to getdebuginfo: give one")
		case is:
			answer = &d
		default:
			file, err := ParseFile([]byte(text))
			if err != nil {
				return Found{}, fmt.Errorf("text %d is neither an answer to getdebuginfo nor a configuration file: %w", i+1, err)
			}
			config = file.Config
			f.found("%d message types, %d components, %d platform routes", len(config.MessageTypes), len(config.Components), len(config.Routes))
		}
	}
	if answer == nil {
		if len(texts) > 0 {
			f.change(derive.Change{Kind: derive.SetConfig, Config: &config})
		}
		return f, nil
	}
	return f, f.read(now, config, answer)
}

// readDebugInfo tells whether a text is an answer to getdebuginfo.
func readDebugInfo(text string) (debugInfo, bool) {
	var d debugInfo
	err := json.Unmarshal([]byte(text), &d)
	return d, err == nil && (d.RouteTable != nil || d.RouteConfigs != "")
}

func (f *Found) change(c derive.Change) { f.Changes = append(f.Changes, c) }

func (f *Found) found(format string, args ...any) {
	f.Facts = append(f.Facts, fmt.Sprintf(format, args...))
}

func (f *Found) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

func (f *Found) read(now *derive.Facts, config derive.Config, answer *debugInfo) error {
	var old routeConfigs
	if answer.RouteConfigs != "" {
		if err := json.Unmarshal([]byte(answer.RouteConfigs), &old); err != nil {
			return fmt.Errorf("RouteConfigs is not the JSON that belongs there: %w", err)
		}
	}
	records, state, err := f.table(strings.Join(answer.RouteTable, "\n"))
	if err != nil {
		return err
	}
	f.config(config, old.Pcs)
	f.change(derive.Change{Kind: derive.SetXApps, XApps: old.XApps})
	f.found("%d xApps", len(old.XApps))
	f.e2ts(now, old.E2Ts, state.MEIDs)
	f.subscriptions(now, config, records)
	next, _, err := now.ApplyAll(f.Changes)
	if err != nil {
		return err
	}
	f.rest(next.State().Table, records)
	return nil
}

// table reads a route table leniently: a record that no table can hold is
// left out and noted.
func (f *Found) table(text string) ([]routing.Record, routing.State, error) {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, uncounted(line))
		}
	}
	p := routing.Parse(strings.Join(lines, "\n")+"\n", routing.Options{})
	if p.Err() != nil {
		for _, bad := range p.Findings {
			if at := bad.Line - 1; bad.Severity == routing.Error && at >= 0 && at < len(lines) && lines[at] != "" {
				f.note("%s: left out: %s", lines[at], bad.Text)
				lines[at] = ""
			}
		}
		p = routing.Parse(strings.Join(lines, "\n")+"\n", routing.Options{})
	}
	if err := p.Err(); err != nil {
		return nil, routing.State{}, fmt.Errorf("RouteTable: %w", err)
	}
	var records []routing.Record
	for _, b := range p.Update.Blocks {
		for _, r := range b.Records {
			if r.Verb == routing.Route {
				records = append(records, r)
			}
		}
	}
	state, _, err := routing.State{}.Apply(p.Update)
	return records, state, err
}

// uncounted is the end of a table without the number of its records.
func uncounted(line string) string {
	if strings.HasPrefix(line, "newrt|end") {
		return "newrt|end"
	}
	if strings.HasPrefix(line, "meid_map|end") {
		return "meid_map|end"
	}
	return line
}

// config takes components over where no file has told them.
func (f *Found) config(config derive.Config, components []derive.Component) {
	if len(config.Components) == 0 {
		config.Components = components
	}
	if len(config.Routes) == 0 {
		f.note("the platform routes of the configuration file are not known: give that file, too")
	}
	f.change(derive.Change{Kind: derive.SetConfig, Config: &config})
	f.found("%d components", len(config.Components))
}

// e2ts makes E2Ts and the owners of RANs those of the lists and of the map;
// where they differ the map counts, as programs go by that.
func (f *Found) e2ts(now *derive.Facts, old map[string]e2tInfo, owners *routing.MEIDMap) {
	c := derive.Change{Kind: derive.SetE2Ts, Base: now.Mark(derive.SetE2Ts)}
	rans := map[string]string{}
	for _, address := range slices.Sorted(maps.Keys(old)) {
		c.E2Ts = append(c.E2Ts, derive.E2T{Address: address, RANs: old[address].RANList})
		for _, ran := range old[address].RANList {
			rans[ran] = address
		}
	}
	others := map[string][]string{}
	for ran, owner := range owners.Sorted() {
		if rans[ran] == owner {
			continue
		}
		if rans[ran] != "" {
			f.note("RAN %s is in the list of E2T %s, and the table gives it to %s: taken from there", ran, rans[ran], owner)
		}
		rans[ran] = owner
		others[owner] = append(others[owner], ran)
	}
	for _, owner := range slices.Sorted(maps.Keys(others)) {
		c.Owners = append(c.Owners, derive.E2T{Address: owner, RANs: others[owner]})
	}
	f.change(c)
	f.found("%d E2Ts, %d RANs", len(c.E2Ts), len(rans))
}

// subscriptionResponse is the message whose routes tell subscriptions, and
// its well-known number.
const (
	subscriptionResponse     = "RIC_SUB_RESP"
	subscriptionResponseType = 12011
)

func (f *Found) subscriptions(now *derive.Facts, config derive.Config, records []routing.Record) {
	mtype := int32(subscriptionResponseType)
	for _, m := range config.MessageTypes {
		if m.Name == subscriptionResponse {
			mtype = m.Number
		}
	}
	endpoints := map[int32][]string{}
	for _, r := range records {
		if r.Key.MType == mtype && r.Key.SubID >= 0 {
			for _, group := range r.Groups {
				endpoints[r.Key.SubID] = append(endpoints[r.Key.SubID], group...)
			}
		}
	}
	c := derive.Change{Kind: derive.SetSubscriptions, Base: now.Mark(derive.SetSubscriptions)}
	for _, id := range slices.Sorted(maps.Keys(endpoints)) {
		list := slices.Sorted(slices.Values(endpoints[id]))
		c.Subscriptions = append(c.Subscriptions, derive.Subscription{SubID: id, Endpoints: slices.Compact(list)})
	}
	f.change(c)
	f.found("%d subscriptions", len(c.Subscriptions))
}

// rest makes routes by hand of what does not follow from the facts, and
// notes where what follows leaves somebody out.
func (f *Found) rest(table *routing.Table, records []routing.Record) {
	byHand := 0
	for i := range records {
		r := &records[i]
		senders := r.Senders
		if len(senders) == 0 {
			senders = []string{""}
		}
		var missing []string
		for _, sender := range senders {
			switch e := entryFor(table, r.Key, sender); {
			case e == nil:
				missing = append(missing, sender)
			case !reaches(e, r):
				f.note("%s: from now on %s", recordText(r), e)
			}
		}
		if len(missing) == 0 {
			continue
		}
		if missing[0] == "" {
			missing = nil
		}
		f.change(derive.Change{Kind: derive.AddRoute, Route: &derive.Route{
			MType: r.Key.MType, SubID: r.Key.SubID, Senders: missing, ByMEID: r.ByMEID, Groups: r.Groups,
		}})
		byHand++
	}
	f.found("%d routes that follow from none of these, to be kept as routes by hand", byHand)
}

// entryFor returns the entry of exactly that sender, "" being everybody.
func entryFor(table *routing.Table, key routing.Key, sender string) *routing.Entry {
	for _, e := range table.Entries(key) {
		if !e.Hidden && (sender == "" && e.General() || sender != "" && slices.Contains(e.Senders, sender)) {
			return e
		}
	}
	return nil
}

// reaches tells whether everybody whom a record names is reached by an entry.
func reaches(e *routing.Entry, r *routing.Record) bool {
	if e.ByMEID != r.ByMEID {
		return false
	}
	all := slices.Concat(e.Groups...)
	return !slices.ContainsFunc(slices.Concat(r.Groups...), func(endpoint string) bool { return !slices.Contains(all, endpoint) })
}

func recordText(r *routing.Record) string {
	e := routing.Entry{Key: r.Key, Senders: r.Senders, ByMEID: r.ByMEID, Groups: r.Groups}
	return e.String()
}
