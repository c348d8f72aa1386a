package fsm

import "floe/topics"

// Digest returns the digest of the content: topics, links, subscriptions,
// routes, MEIDs, deletions to be told, apps, and how routes are distributed.
// Of the facts of a RIC it has what follows from them. It costs what there
// are apps and withdrawn endpoints.
func (v *View) Digest() topics.Digest {
	d := v.Graph.Digest().Add(topics.Digest(v.Routes.union.Digest())).Add(topics.Digest(v.Routes.Gone.Digest()))
	for i := range v.Apps {
		d = d.Add(hashApp(&v.Apps[i]))
	}
	return d.Add(v.Distribution.digest())
}

func hashApp(a *App) topics.Digest {
	return topics.Hash("app", func(w *topics.RecordWriter) {
		w.Text(a.Name)
		w.Text(a.Node)
		w.Text(a.Before)
		for _, n := range []uint64{a.Serial, a.Assigned, a.Acked} {
			w.Uint(n)
		}
		for _, c := range a.Control {
			w.Text(c)
		}
	})
}

func (d *Distribution) digest() topics.Digest {
	var sum topics.Digest
	add := func(kind, text string) {
		sum = sum.Add(topics.Hash(kind, func(w *topics.RecordWriter) { w.Text(text) }))
	}
	if d.Relay.All {
		add("relay", "")
	}
	for _, mtype := range d.Relay.Except {
		sum = sum.Add(topics.Hash("except", func(w *topics.RecordWriter) { w.Uint(uint64(uint32(mtype))) }))
	}
	for _, node := range d.Out {
		add("out", node)
	}
	for _, endpoint := range d.Dead {
		add("dead", endpoint)
	}
	return sum
}
