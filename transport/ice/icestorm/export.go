package icestorm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"floe/transport/ice/proto"
)

// maxExport is the largest export that is read, in bytes.
const maxExport = 256 << 20

// magic begins every export: the text "IceStorm" with its length.
const magic = "\x08IceStorm"

// IsExport tells an export of a database from other files.
func IsExport(b []byte) bool { return strings.HasPrefix(string(b[:min(len(b), len(magic))]), magic) }

// ParseExport reads what icestormdb --export of Ice 3.7 wrote. instance is
// the one whose topics are wanted; "": the one there is.
//
// The format was found out from exports of 3.7.8; all of it is in encoding
// 1.1. It begins with the text "IceStorm", an int version (30708) and a
// dictionary of a text and two longs (the service's place in its history).
// What follows is a dictionary. The key is two identities: a topic, and
// empty for the topic itself, or who gets its events. The value is text
// topic name, identity, bool link, proxy receiver, dictionary QoS, int cost,
// proxy topic; of these a topic itself has none, a subscriber the receiver
// and QoS, and a link its link object as the receiver, the cost and the topic
// as it was passed to link. The key's second identity is the one of the proxy.
func ParseExport(b []byte, instance string) (*Contents, error) {
	if len(b) > maxExport {
		return nil, fmt.Errorf("the export has %d bytes, at most %d", len(b), maxExport)
	}
	if !IsExport(b) {
		return nil, errors.New("it is no export of icestormdb: it does not begin with the text IceStorm")
	}
	d := proto.NewDecoder(b, proto.Encoding11)
	_, version := d.Next(len(magic)), d.Int32()
	const update, smallest = 1 + 16, 2 + 2 + 13 // bytes
	for range d.SeqSize(update) {
		_, _, _ = d.Bytes(), d.Int64(), d.Int64()
	}
	records := make([]record, 0, min(d.Left()/smallest, 1024))
	for range d.SeqSize(smallest) {
		if d.Err() != nil {
			break
		}
		records = append(records, readRecord(&d))
	}
	if d.Err() == nil && d.Left() > 0 {
		return nil, fmt.Errorf("the export (version %d) has %d bytes more than it should: not an export of Ice 3.7", version, d.Left())
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("the export (version %d) can't be read: %w", version, err)
	}
	return contents(records, instance)
}

// record is an entry of the database.
type record struct {
	topic, id proto.Identity // id is empty for the topic itself
	link      bool
	receiver  proto.Proxy
	qos       map[string]string
	cost      int32
	target    proto.Proxy
}

func readRecord(d *proto.Decoder) record {
	r := record{topic: d.Identity(), id: d.Identity()}
	_, _ = d.Bytes(), d.Identity() // topic name and identity once more
	r.link, r.receiver, r.qos, r.cost, r.target = d.Bool(), d.Proxy(), d.StringDict(), d.Int32(), d.Proxy()
	return r
}

func contents(records []record, instance string) (*Contents, error) {
	found := map[string]bool{}
	for _, r := range records {
		found[r.topic.Category] = true
	}
	if instance == "" {
		names := slices.Sorted(maps.Keys(found))
		if len(names) > 1 {
			return nil, fmt.Errorf("the database has topics of the instances %q: say with --instance which are meant", names)
		}
		if len(names) == 1 {
			instance = names[0]
		}
	}
	c := &Contents{Instance: instance}
	for _, r := range records {
		c.add(&r)
	}
	c.settle()
	return c, nil
}

func (c *Contents) add(r *record) {
	name, isTopic := strings.CutPrefix(r.topic.Name, topicPrefix)
	switch {
	case r.topic.Category != c.Instance || !isTopic:
		c.leave("record of %s: it is no topic of instance %q", quoted(r.topic.String()), c.Instance)
	case r.id == proto.Identity{}:
		c.Topics = append(c.Topics, name)
	case r.link:
		c.Receivers = append(c.Receivers, Receiver{Topic: name, Link: true, Cost: r.cost, Proxy: r.target})
	default:
		c.Receivers = append(c.Receivers, Receiver{Topic: name, Proxy: r.receiver, QoS: r.qos})
	}
}
