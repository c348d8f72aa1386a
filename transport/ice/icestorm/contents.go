package icestorm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"floe/topics"
	"floe/transport/ice/proto"
)

// Contents are the topics of one IceStorm, and who gets their events.
type Contents struct {
	// Instance is the category of the topics' identities.
	Instance string
	// Topics are names, in the order IceStorm has them.
	Topics []string
	// Receivers are links and subscribers, in the order IceStorm has them.
	Receivers []Receiver
	// Left says in words what can't be carried over, one line each.
	Left []string
}

// Receiver is a link of a topic, or a subscriber.
type Receiver struct {
	Topic string
	Link  bool
	Cost  int32 // of a link
	// Proxy is the subscriber, or the topic a link leads to.
	Proxy proto.Proxy
	QoS   map[string]string // of a subscriber
}

const topicPrefix = "topic."

// settle leaves out what no floe cluster can hold, and says so.
func (c *Contents) settle() {
	kept := map[string]bool{}
	c.Topics = slices.DeleteFunc(c.Topics, func(name string) bool {
		if err := topics.CheckName(name); err != nil {
			c.leave("topic %s: %v", quoted(name), err)
			return true
		}
		kept[name] = true
		return false
	})
	c.Receivers = slices.DeleteFunc(c.Receivers, func(r Receiver) bool {
		reason := r.unfit(c.Instance, kept)
		if reason != "" {
			c.leave("%s: %s", r.name(), reason)
		}
		return reason != ""
	})
}

func (c *Contents) leave(format string, args ...any) {
	c.Left = append(c.Left, fmt.Sprintf(format, args...))
}

// ToItself tells a link of a topic to one of its own name.
func (r *Receiver) ToItself() bool { return r.Link && r.Proxy.Identity.Name == topicPrefix+r.Topic }

// name is the receiver in words.
func (r *Receiver) name() string {
	if r.Link {
		return "link of topic " + quoted(r.Topic) + " to " + quoted(r.Proxy.Identity.String())
	}
	return "subscriber " + quoted(r.Proxy.Identity.String()) + " of topic " + quoted(r.Topic)
}

// unfit says why a receiver can't be carried over, "" if it can.
func (r *Receiver) unfit(instance string, kept map[string]bool) string {
	if !kept[r.Topic] {
		return "its topic can't be carried over"
	}
	if r.Proxy.IsNull() {
		return "it has no proxy"
	}
	name, isTopic := strings.CutPrefix(r.Proxy.Identity.Name, topicPrefix)
	if r.Link && isTopic && r.Proxy.Identity.Category == instance && !kept[name] {
		return "there is no such topic; IceStorm keeps links to topics that were destroyed"
	}
	for k, v := range r.QoS {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return "its quality of service is no UTF-8 text"
		}
	}
	return ""
}

// quoted is a name for people, cut where it is long.
func quoted(name string) string {
	const most = 64
	if len(name) > most {
		return strconv.Quote(name[:most]) + "..."
	}
	return strconv.Quote(name)
}
