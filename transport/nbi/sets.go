package nbi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"floe/routing"
	"floe/routing/derive"
)

// present is the value of a part that is there or not.
const present = "+"

// e2tSet has a part for each E2T, "e ADDRESS", and one for each RAN, "r NAME",
// which says who owns it.
type e2tSet struct{}

func (e2tSet) kind() derive.Kind { return derive.SetE2Ts }

func (e2tSet) current(f *derive.Facts) items {
	set := items{}
	for _, t := range f.E2Ts() {
		set["e "+t.Address] = present
	}
	for ran, owner := range f.State().MEIDs.All() {
		set["r "+ran] = owner
	}
	return set
}

func (e2tSet) read(text []byte) (items, []string, error) {
	var list []struct {
		Address *string  `json:"e2tAddress"`
		RANs    []string `json:"ranNames"`
	}
	if err := array(text, &list); err != nil {
		return nil, nil, err
	}
	set := items{}
	var unusable []string
	for i, t := range list {
		if t.Address == nil {
			return nil, nil, fmt.Errorf("E2T %d has no e2tAddress", i+1)
		}
		if err := routing.CheckOwner(*t.Address); err != nil {
			return nil, nil, fmt.Errorf("E2T %d: %w", i+1, err)
		}
		set["e "+*t.Address] = present
		for _, ran := range t.RANs {
			if err := routing.CheckMEID(ran); err != nil {
				unusable = append(unusable, err.Error())
				continue
			}
			set["r "+ran] = *t.Address
		}
	}
	return set, unusable, nil
}

func (e2tSet) change(set items) derive.Change {
	rans := map[string][]string{}
	known := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if address, ok := strings.CutPrefix(key, "e "); ok {
			known[address] = true
		} else {
			rans[set[key]] = append(rans[set[key]], key[2:])
		}
	}
	c := derive.Change{Kind: derive.SetE2Ts}
	for _, address := range slices.Sorted(maps.Keys(known)) {
		c.E2Ts = append(c.E2Ts, derive.E2T{Address: address, RANs: rans[address]})
	}
	for _, owner := range slices.Sorted(maps.Keys(rans)) {
		if !known[owner] {
			c.Owners = append(c.Owners, derive.E2T{Address: owner, RANs: rans[owner]})
		}
	}
	return c
}

// subscriptionSet has a part for each xApp of a subscription: "ID ENDPOINT".
type subscriptionSet struct{}

func (subscriptionSet) kind() derive.Kind { return derive.SetSubscriptions }

func (subscriptionSet) current(f *derive.Facts) items {
	set := items{}
	for _, sub := range f.Subscriptions() {
		for _, e := range sub.Endpoints {
			set[part(sub.SubID, e)] = present
		}
	}
	return set
}

func part(id int32, endpoint string) string { return strconv.Itoa(int(id)) + " " + endpoint }

func (subscriptionSet) read(text []byte) (items, []string, error) {
	var list []struct {
		ID        *int32   `json:"SubscriptionId"`
		Endpoints []string `json:"ClientEndpoint"`
	}
	if err := array(text, &list); err != nil {
		return nil, nil, err
	}
	set := items{}
	var unusable []string
	for i, sub := range list {
		if sub.ID == nil {
			return nil, nil, fmt.Errorf("subscription %d has no SubscriptionId", i+1)
		}
		if *sub.ID < 0 {
			return nil, nil, fmt.Errorf("subscription %d has the id %d", i+1, *sub.ID)
		}
		for _, e := range sub.Endpoints {
			if err := checkXApp(e); err != nil {
				unusable = append(unusable, err.Error())
				continue
			}
			set[part(*sub.ID, e)] = present
		}
	}
	return set, unusable, nil
}

func checkXApp(endpoint string) error {
	if _, topic := routing.Topic(endpoint); topic {
		return errors.New("a topic is no xApp")
	}
	return routing.CheckEndpoint(endpoint)
}

func (subscriptionSet) change(set items) derive.Change {
	endpoints := map[int32][]string{}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		id, endpoint, _ := strings.Cut(key, " ")
		n, _ := strconv.ParseInt(id, 10, 32) // as part wrote it
		endpoints[int32(n)] = append(endpoints[int32(n)], endpoint)
	}
	c := derive.Change{Kind: derive.SetSubscriptions}
	for _, id := range slices.Sorted(maps.Keys(endpoints)) {
		c.Subscriptions = append(c.Subscriptions, derive.Subscription{SubID: id, Endpoints: endpoints[id]})
	}
	return c
}
