package fsm

import (
	"fmt"
	"slices"
	"strings"

	"floe/topics"
)

// draft is the state a command works on: a view of its own, thrown away
// where the command is refused.
type draft struct {
	View
	at    uint64 // index of the command, with View.Shift
	trial bool   // its outcome alone is wanted; see View.Try
	touched
}

// opVersion returns the cluster version an op needs.
func opVersion(op Op) uint32 {
	if b, ok := op.(Batch); ok {
		need := uint32(1)
		for _, part := range b.Ops {
			need = max(need, opVersion(part))
		}
		return need
	}
	switch o := op.(type) {
	case ChangeRoutes, StageRoutes, CommitRoutes:
		return 2
	case Link:
		if o.Remote != nil && o.Remote.Messages != nil {
			return distributionVersion
		}
	case DestroyTopic:
		if o.Force {
			return distributionVersion
		}
	case RegisterApp, ForgetApps, AckApps, SetServing, SetRelay, SetProbed, ChangeFacts:
		return distributionVersion
	case StageRestore, CommitRestore:
		return restoreVersion
	case SetToken, DropToken, SpendToken:
		return tokenVersion
	case Revert:
		return HistoryVersion
	}
	return 1
}

// byNode tells the ops that nodes make by themselves, or that change no
// content, from those somebody asked for.
func byNode(op Op) bool {
	switch op.(type) {
	case Init, Barrier, SetMember, DropMember, Reap, RaiseVersion, RegisterApp, ForgetApps, AckApps, SetServing, SetProbed, SpendToken,
		SetToken, DropToken, // who may do what is no content: a cluster with tokens alone is empty
		StageRestore: // nothing is changed before the restore is committed
		return true
	}
	return false
}

func (o Init) apply(d *draft) (Result, error) {
	if d.ClusterID != "" {
		return Result{}, refuse(ErrInitialised, d.ClusterID)
	}
	d.ClusterID, d.Version = o.ClusterID, o.Version
	d.Graph = topics.New(o.Instance)
	return Result{}, nil
}

func (Barrier) apply(*draft) (Result, error) { return Result{}, nil }

func (o CreateTopic) apply(d *draft) (Result, error) {
	g, id, err := d.Graph.Create(o.Name)
	d.Graph = g
	return Result{Topic: id}, err
}

func (o DestroyTopic) apply(d *draft) (Result, error) {
	if !o.Force && d.Version >= distributionVersion && d.Graph.Topic(o.Name) != nil {
		if key, used := d.Routes.usesTopic(o.Name); used {
			return Result{}, &Refusal{Kind: ErrInUse, Name: o.Name, Detail: fmt.Sprintf("route %v leads to it; change the route first, or force it", key)}
		}
	}
	g, err := d.Graph.Destroy(o.Name)
	d.Graph = g
	return Result{}, err
}

func (o Link) apply(d *draft) (Result, error) {
	var g *topics.Graph
	var serial uint64
	var err error
	if o.Remote != nil {
		g, serial, err = d.Graph.LinkRemote(o.From, *o.Remote, o.Cost, o.Replace)
	} else {
		g, serial, err = d.Graph.Link(o.From, o.To, o.Cost, o.Replace)
	}
	d.Graph = g
	return Result{Serial: serial}, err
}

func (o Unlink) apply(d *draft) (Result, error) {
	g, err := d.Graph.Unlink(o.From, o.Target)
	d.Graph = g
	return Result{}, err
}

func (o Subscribe) apply(d *draft) (Result, error) {
	g, serial, err := d.Graph.Subscribe(o.Topic, o.Subscription)
	d.Graph = g
	return Result{Serial: serial}, err
}

func (o Unsubscribe) apply(d *draft) (Result, error) {
	g, removed, err := d.Graph.Unsubscribe(o.Topic, o.Identity, 0)
	d.Graph = g
	return Result{Count: count(removed)}, err
}

func (o Reap) apply(d *draft) (Result, error) {
	removed := 0
	for _, v := range o.Verdicts {
		removed += count(d.reap(v))
	}
	return Result{Count: removed}, nil
}

// reap removes what a verdict names; a verdict on what is gone is void.
func (d *draft) reap(v Verdict) bool {
	t := d.Graph.ByID(v.Topic)
	if t == nil {
		return false
	}
	if g, removed, err := d.Graph.Unsubscribe(t.Name, v.Identity, v.Serial); err == nil && removed {
		d.Graph = g
		return true
	}
	for _, l := range t.Links {
		if l.Serial == v.Serial && l.Remote != nil && l.Remote.Identity == v.Identity {
			d.Graph, _ = d.Graph.Unlink(t.Name, v.Identity)
			return true
		}
	}
	return false
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (o Batch) apply(d *draft) (Result, error) {
	var all Result
	for i, op := range o.Ops {
		part, err := Result{}, error(errNotInBatch)
		if !isLoad(op) {
			part, err = op.apply(d)
		}
		if err != nil {
			r := *refusal(err)
			r.Part = i + 1
			return Result{}, &r
		}
		all.Parts = append(all.Parts, part)
	}
	return all, nil
}

// A part of a load changes more than the draft, so it can't be taken back
// with the others of a batch.
var errNotInBatch = &Refusal{Kind: ErrNoLoad, Detail: "a batch can't hold a part of it"}

func isLoad(op Op) bool {
	switch op.(type) {
	case StageRoutes, CommitRoutes, StageRestore, CommitRestore:
		return true
	}
	return false
}

func (o SetMember) apply(d *draft) (Result, error) {
	if old, known := d.Member(o.Member.ID); known && old.Incarnation > o.Member.Incarnation {
		return Result{}, refuse(ErrStale, o.Member.ID)
	}
	d.Members = put(d.Members, o.Member, func(m Member) string { return m.ID })
	return Result{}, nil
}

// put returns a sorted list with e in it, in place of one with its key.
func put[E any](list []E, e E, key func(E) string) []E {
	i, found := slices.BinarySearchFunc(list, key(e), func(x E, k string) int { return strings.Compare(key(x), k) })
	list = slices.Clone(list)
	if found {
		list[i] = e
		return list
	}
	return slices.Insert(list, i, e)
}

func (o DropMember) apply(d *draft) (Result, error) {
	members := slices.DeleteFunc(slices.Clone(d.Members), func(m Member) bool { return m.ID == o.ID })
	removed := len(d.Members) - len(members)
	d.Members = members
	return Result{Count: removed}, nil
}

func (o SetCluster) apply(d *draft) (Result, error) {
	if o.Cluster.ID == d.ClusterID {
		return Result{}, &Refusal{Kind: ErrCluster, Name: o.Cluster.Name, Detail: "its addresses lead to this very cluster"}
	}
	if old, known := d.Cluster(o.Cluster.Name); known && old.ID != o.Cluster.ID {
		return Result{}, refuse(ErrCluster, o.Cluster.Name)
	}
	d.Clusters = put(d.Clusters, o.Cluster, func(p Peer) string { return p.Name })
	return Result{}, nil
}

func (o DropCluster) apply(d *draft) (Result, error) {
	peer, known := d.Cluster(o.Name)
	if !known {
		return Result{}, refuse(ErrNoCluster, o.Name)
	}
	for t := range d.Graph.All() {
		for _, l := range t.Links {
			if l.Remote != nil && l.Remote.Cluster == peer.ID {
				return Result{}, &Refusal{Kind: ErrInUse, Name: o.Name, Detail: "topic " + t.Name + " has a link there; unlink it first"}
			}
		}
	}
	d.Clusters = slices.DeleteFunc(slices.Clone(d.Clusters), func(p Peer) bool { return p.Name == o.Name })
	return Result{Count: 1}, nil
}

func (o RaiseVersion) apply(d *draft) (Result, error) {
	if o.Version < d.Version {
		return Result{}, &Refusal{Kind: ErrVersion, Detail: "the cluster version never falls"}
	}
	d.Version = o.Version
	return Result{}, nil
}
