package rmrapp

import (
	"fmt"
	"maps"
	"strings"

	"floe/routing"
)

// Ready says whether the App can send: it has had a table since its start.
func (a *App) Ready() bool {
	r := a.now()
	r.table.RLock()
	defer r.table.RUnlock()
	return r.reader.Ready()
}

// Open says whether a table was begun and not ended.
func (a *App) Open() bool {
	r := a.now()
	r.table.RLock()
	defer r.table.RUnlock()
	return r.reader.Open()
}

// Lookup returns where the App would send a message: one list of endpoints
// for each copy, of which one gets it, in the order of their turns. By MEID it is
// the one owner. Nil: it would send nothing.
func (a *App) Lookup(mtype, subID int32, meid string) [][]string {
	_, groups := a.now().groups(mtype, subID, meid)
	return groups
}

func (r *incarnation) groups(mtype, subID int32, meid string) (*routing.Entry, [][]string) {
	r.table.RLock()
	defer r.table.RUnlock()
	e := r.reader.Lookup(mtype, subID)
	switch {
	case e == nil:
		return nil, nil
	case !e.ByMEID:
		return e, e.Groups
	}
	if owner, ok := r.reader.MEIDs()[meid]; ok {
		return e, [][]string{{owner}}
	}
	return e, nil
}

// MEIDs returns a copy of the map: who owns which MEID.
func (a *App) MEIDs() map[string]string {
	r := a.now()
	r.table.RLock()
	defer r.table.RUnlock()
	return maps.Clone(r.reader.MEIDs())
}

// Text returns what the App holds as canonical text, in the form of
// [routing.State.AppendText]: without its own endpoints and without what is
// meant for others, as a reader leaves them out. The error is about an MEID
// or an owner that no message can go by.
func (a *App) Text() (string, error) {
	r := a.now()
	r.table.RLock()
	defer r.table.RUnlock()
	return text(&r.reader)
}

// TextOf returns what [App.Text] would be if the App, just started, had
// been sent the texts one after the other.
func (a *App) TextOf(texts ...string) (string, error) {
	r := a.now()
	fresh := &routing.Reader{Name: r.reader.Name, Addresses: r.reader.Addresses}
	for _, t := range texts {
		if _, err := fresh.Push(t); err != nil {
			return "", err
		}
	}
	return text(fresh)
}

func text(r *routing.Reader) (string, error) {
	e := routing.State{}.Edit()
	for meid, owner := range r.MEIDs() {
		if err := e.Add(&routing.Record{Verb: routing.Assign, Owner: owner, MEIDs: []string{meid}}); err != nil {
			return "", err
		}
	}
	meids, _ := e.Commit()
	_, mapText, _ := strings.Cut(string(meids.AppendText(nil)), "newrt|end|0\n")
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for _, e := range r.Routes() {
		b.WriteString(e.String() + "\n")
	}
	fmt.Fprintf(&b, "newrt|end|%d\n%s", len(r.Routes()), mapText)
	return b.String(), nil
}
