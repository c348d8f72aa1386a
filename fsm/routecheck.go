package fsm

import (
	"fmt"

	"floe/routing"
)

// distributionVersion is the cluster version from which routes may lead to
// topics and through floe, and are checked for it, and links to messages.
const distributionVersion = 3

// listeners are those of a node that no route may lead to: floe puts them in
// the place of topics and relays itself, and would send messages in a circle.
var listeners = []string{"rmr", "rmr-topics", "rtg"}

// checkBlocks refuses routes that floe could not carry out. Older programs
// would not, so it waits for the cluster version.
func (d *draft) checkBlocks(blocks []RouteBlock) error {
	if d.Version < distributionVersion {
		return nil
	}
	own := d.ownListeners()
	for _, b := range blocks {
		for i := range b.Records {
			if err := checkRecord(&b.Records[i], own); err != nil {
				return &Refusal{Kind: ErrRoutes, Detail: err.Error()}
			}
		}
	}
	return nil
}

// ownListeners maps the addresses of floe's listeners to their nodes.
func (v *View) ownListeners() map[string]string {
	own := map[string]string{}
	for _, m := range v.Members {
		for _, l := range listeners {
			for _, a := range m.Addresses[l] {
				own[a] = m.ID
			}
		}
	}
	return own
}

func checkRecord(r *RouteRecord, own map[string]string) error {
	if err := routing.CheckTopics(r.Groups); err != nil {
		return fmt.Errorf("route %v: %w", routing.Key{MType: r.MType, SubID: r.SubID}, err)
	}
	if node, is := own[r.Owner]; is {
		return fmt.Errorf("owner %s is a listener of node %s of this cluster", r.Owner, node)
	}
	for _, g := range r.Groups {
		for _, member := range g {
			if node, is := own[member]; is {
				return fmt.Errorf("route %v: endpoint %s is a listener of node %s of this cluster; name the program that is to get the messages",
					routing.Key{MType: r.MType, SubID: r.SubID}, member, node)
			}
		}
	}
	return nil
}

// usesTopic returns the key of a route that names a topic.
func (r Routes) usesTopic(name string) (routing.Key, bool) {
	for e := range r.union.Table.All() {
		for _, g := range e.Groups {
			for _, m := range g {
				if topic, ok := routing.Topic(m); ok && topic == name {
					return e.Key, true
				}
			}
		}
	}
	return routing.Key{}, false
}
