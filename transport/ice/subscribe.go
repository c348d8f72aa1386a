package ice

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// subscribe is subscribeAndGetPublisher.
func (t *topic) subscribe(ctx context.Context, c *server.Call) error {
	qos := c.In.StringDict()
	subscriber, err := oneProxy(c)
	if err != nil {
		return err
	}
	if subscriber.IsNull() {
		return proto.InvalidSubscriber("subscriber is a null proxy")
	}
	id := topics.Identity(subscriber.Identity)
	if t.Subscription(id) == nil { // else the answer is AlreadySubscribed, whatever the QoS
		if err := checkQoS(qos, subscriber.Mode); err != nil {
			return err
		}
	}
	op := fsm.Subscribe{Topic: t.Name, Subscription: topics.Subscription{Identity: id, Proxy: marshal(&subscriber), QoS: settings(qos)}}
	if _, err := t.face.propose(ctx, c.Request, op); err != nil {
		return err
	}
	return returnProxy(c, t.face.privateProxy(t.face.group.View(), t.Name, id))
}

func settings(qos map[string]string) []topics.Setting {
	var out []topics.Setting
	for k, v := range qos {
		out = append(out, topics.Setting{Key: k, Value: v})
	}
	return out
}

// checkQoS refuses what IceStorm 3.7 refuses, with its words
// (Subscriber::create in IceStorm/Subscriber.cpp). retryCount is never
// refused: what is no number counts as 0.
func checkQoS(qos map[string]string, mode proto.ProxyMode) error {
	reliability := qos["reliability"]
	if reliability != "" && reliability != "ordered" {
		return proto.BadQoS("invalid reliability: " + reliability)
	}
	if err := checkLocatorCache(qos); err != nil {
		return err
	}
	if v, ok := qos["connectionCached"]; ok {
		if _, err := wholeNumber(v); err != nil {
			return proto.BadQoS("invalid connection cached setting (numeric value required): " + v)
		}
	}
	if reliability == "ordered" && mode != proto.Twoway {
		return proto.BadQoS("ordered reliability requires a twoway proxy")
	}
	return nil
}

func checkLocatorCache(qos map[string]string) error {
	v, ok := qos["locatorCacheTimeout"]
	if !ok {
		return nil
	}
	n, err := wholeNumber(v)
	if err != nil {
		return proto.BadQoS("invalid locator cache timeout (numeric value required): " + v)
	}
	if n < -1 {
		return fmt.Errorf("locatorCacheTimeout %d: must be -1 or more", n)
	}
	return nil
}

func wholeNumber(s string) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(s), 10, 32)
}

// unsubscribe of somebody who does not subscribe succeeds. IceStorm throws
// InvalidSubscriber at a null proxy, though the operation does not declare it:
// the capture unsubscribe-null has it as status 1, which clients then report
// as an unknown user exception.
func (t *topic) unsubscribe(ctx context.Context, c *server.Call) error {
	subscriber, err := oneProxy(c)
	if err != nil {
		return err
	}
	if subscriber.IsNull() {
		return proto.InvalidSubscriber("subscriber is a null proxy")
	}
	_, err = t.face.propose(ctx, c.Request, fsm.Unsubscribe{Topic: t.Name, Identity: topics.Identity(subscriber.Identity)})
	return err
}
