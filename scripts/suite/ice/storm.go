package ice

import (
	"time"

	"floe/transport/ice/proto"
)

// Manager is the topic manager's identity.
var Manager = proto.Identity{Name: "TopicManager", Category: "IceStorm"}

// TopicProxy asks the topic manager for a topic (retrieve).
func (c *Conn) TopicProxy(name string, limit time.Duration) (proto.Proxy, error) {
	e := newEncoder()
	e.b = proto.AppendString(e.b, name)
	return c.proxy(Request{Identity: Manager, Operation: "retrieve", Mode: proto.ModeIdempotent, Encaps: e.end()}, limit)
}

// Publisher asks a topic for its publisher.
func (c *Conn) Publisher(topic proto.Identity, limit time.Duration) (proto.Proxy, error) {
	return c.proxy(Request{Identity: topic, Operation: "getPublisher", Mode: proto.ModeIdempotent}, limit)
}

// Ping asks the topic manager whether it is there. On success the server has
// read everything sent before on this connection.
func (c *Conn) Ping(limit time.Duration) error {
	_, err := c.Call(Request{Identity: Manager, Operation: "ice_ping", Mode: proto.ModeNonmutating}, limit)
	return err
}

// Subscribe subscribes an object to a topic.
func (c *Conn) Subscribe(topic proto.Identity, qos map[string]string, subscriber proto.Proxy, limit time.Duration) error {
	e := newEncoder()
	e.b = proto.AppendStringDict(e.b, qos)
	e.b = proto.AppendProxy(e.b, &subscriber, proto.Encoding11)
	_, err := c.Call(Request{Identity: topic, Operation: "subscribeAndGetPublisher", Mode: proto.ModeNormal, Encaps: e.end()}, limit)
	return err
}

// proxy makes a call whose result is a proxy.
func (c *Conn) proxy(r Request, limit time.Duration) (proto.Proxy, error) {
	reply, err := c.Call(r, limit)
	if err != nil {
		return proto.Proxy{}, err
	}
	d, err := proto.OpenEncapsulation(reply.Encaps)
	if err != nil {
		return proto.Proxy{}, err
	}
	p := d.Proxy()
	return p, d.Finish()
}

// encoder builds the parameters of a request.
type encoder struct {
	b     []byte
	start int
}

func newEncoder() *encoder {
	e := &encoder{}
	e.b, e.start = proto.BeginEncapsulation(nil, proto.Encoding11)
	return e
}

func (e *encoder) end() []byte { return proto.EndEncapsulation(e.b, e.start) }

// Text is the parameters of an operation that takes one string.
func Text(s string) []byte {
	e := newEncoder()
	e.b = proto.AppendString(e.b, s)
	return e.end()
}

// ReadText reads what Text wrote.
func ReadText(encaps []byte) (string, error) {
	d, err := proto.OpenEncapsulation(encaps)
	if err != nil {
		return "", err
	}
	s := d.String()
	return s, d.Finish()
}
