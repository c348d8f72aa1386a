package ice

import (
	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
)

// callProxy returns the proxy of an object that is called, at every node.
func (f *Face) callProxy(v *fsm.View, name string) proto.Proxy {
	return proto.NewProxy(proto.Identity{Name: name, Category: v.Graph.Instance()}, f.addressesIn(v).stream...)
}

// eventProxy returns the proxy of an object that takes events, at every node.
func (f *Face) eventProxy(v *fsm.View, name string) proto.Proxy {
	return proto.NewProxy(proto.Identity{Name: name, Category: v.Graph.Instance()}, f.addressesIn(v).all...)
}

func (f *Face) topicProxy(v *fsm.View, name string) proto.Proxy {
	return f.callProxy(v, topicPrefix+name)
}

func (f *Face) publisherProxy(v *fsm.View, name string) proto.Proxy {
	return f.eventProxy(v, name+publishSuffix)
}

func (f *Face) linkProxy(v *fsm.View, name string) proto.Proxy {
	return f.eventProxy(v, name+linkSuffix)
}

func (f *Face) privateProxy(v *fsm.View, name string, subscriber topics.Identity) proto.Proxy {
	return f.eventProxy(v, topicPrefix+name+privateInfix+proto.Identity(subscriber).String())
}

// marshal returns a proxy's bytes as the state keeps them.
func marshal(p *proto.Proxy) []byte { return proto.AppendProxy(nil, p, proto.Encoding11) }

// unmarshal reads what marshal wrote; the null proxy where it can't.
func unmarshal(b []byte) proto.Proxy {
	d := proto.NewDecoder(b, proto.Encoding11)
	return d.Proxy()
}
