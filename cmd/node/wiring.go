package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/federation"
	"floe/transport/ice"
	"floe/transport/ice/client"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
	"floe/transport/wire"
)

// makeDelivery makes the hub and the client that sends for it.
func (n *node) makeDelivery() error {
	o := n.options
	locator, err := locatorProxy(o)
	if err != nil {
		return err
	}
	n.sender = client.New(client.Config{
		Log: n.log.Named("delivery"), TLS: n.iceClientTLS(), Locator: locator, Clusters: farTopics{n.federation},
		Origin:      n.cluster.ID(),
		SendTimeout: o.duration("send-timeout"), FlushInterval: o.duration("flush-interval"),
		MessageSizeMax: o.size("message-size-max"),
	})
	n.hub = delivery.New(delivery.Config{
		Group: n.cluster, Opener: n.sender, Confirm: n.confirm, Messages: n.bridge.leave, Log: n.log.Named("delivery"),
		Queue:    queueLimits(o.number("queue-events"), o.size("queue-bytes"), o.text("queue-policy")),
		Interval: o.duration("discard-interval"),
	})
	n.bridge.deliver, n.bridge.limit = n.hub.DeliverMessage, o.size("message-size-max")
	n.cluster.Handle(reachMethod, func(ctx context.Context, _ string, proxy []byte) ([]byte, error) {
		return json.Marshal(n.sender.Probe(ctx, proxy))
	})
	return nil
}

func queueLimits(events, bytes int, policy string) delivery.Limits {
	l := delivery.Limits{Events: events, Bytes: bytes, Policy: delivery.DropOldest}
	if policy == "remove-subscriber" {
		l.Policy = delivery.RemoveSubscriber
	}
	return l
}

// makeIce makes the Ice face.
func (n *node) makeIce() error {
	o := n.options
	adapter, err := adapterOf(o)
	if err != nil {
		return err
	}
	n.face, err = ice.New(ice.Config{
		Node: n.cluster.ID(), Group: n.audited(), Hub: ice.FromHub(n.hub), Endpoints: n.sockets.published["ice"],
		Caller: n.sender, Dedupe: client.NewDedupe(0), Adapter: adapter,
		Access: o.access,
		Leader: func() (string, uint64) { return n.cluster.LeaderID(), n.cluster.Term() },
		Live:   n.cluster.Alive,
		Server: server.Config{MessageSizeMax: o.size("message-size-max")},
		Log:    n.log.Named("ice"),
	})
	return err
}

func locatorProxy(o *options) (proto.Proxy, error) {
	if o.text("ice-locator") == "" {
		return proto.Proxy{}, nil
	}
	return proto.ParseProxy(o.text("ice-locator"))
}

func adapterOf(o *options) (ice.Adapter, error) {
	locator, err := locatorProxy(o)
	if o.text("ice-adapter-id") == "" || err != nil {
		return ice.Adapter{}, err
	}
	id, group, _ := strings.Cut(o.text("ice-adapter-id"), "/")
	return ice.Adapter{ID: id, ReplicaGroup: group, Locator: locator}, nil
}

// iceClientTLS is how subscribers over ssl are spoken to; nil: not at all.
func (n *node) iceClientTLS() func() *tls.Config {
	if n.iceTLS == nil || n.options.iceTLSFiles().CA == "" {
		return nil
	}
	return n.iceTLS.IceClient
}

// reachMethod asks another node whether it can reach what a proxy names.
const reachMethod = "delivery.reach"

// confirm asks the other voters, all at once; the first answer counts.
func (n *node) confirm(ctx context.Context, proxy []byte) (reachable, asked bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan *bool)
	waiting := 0
	for _, s := range n.cluster.View().Servers {
		if !s.Voter || s.ID == n.cluster.ID() {
			continue
		}
		waiting++
		go func() { answers <- n.askReach(ctx, s.ID, proxy) }()
	}
	for ; waiting > 0; waiting-- {
		if answer := <-answers; answer != nil && !asked {
			reachable, asked = *answer, true
			cancel() // the others end, and are waited for
		}
	}
	return reachable, asked
}

// askReach asks one node, nil where it gives no answer.
func (n *node) askReach(ctx context.Context, id string, proxy []byte) *bool {
	answer, err := n.cluster.Call(ctx, id, reachMethod, proxy)
	var reachable bool
	if err != nil || json.Unmarshal(answer, &reachable) != nil {
		return nil
	}
	return &reachable
}

// farTopics finds the link proxies of topics of other floe clusters.
type farTopics struct{ *federation.Federation }

// LinkProxy asks the other cluster.
func (f farTopics) LinkProxy(ctx context.Context, clusterID string, id topics.ID) (proto.Proxy, error) {
	b, err := f.Federation.LinkProxy(ctx, clusterID, id)
	if errors.Is(err, federation.ErrNoTopic) {
		return proto.Proxy{}, fmt.Errorf("%w: %w", client.ErrGone, err)
	}
	if err != nil {
		return proto.Proxy{}, err
	}
	d := proto.NewDecoder(b, proto.Encoding11)
	p := d.Proxy()
	return p, d.Err()
}

// linkProxy is the proxy that takes events for one of our topics: its link
// object on every node.
func (n *node) linkProxy(t *topics.Topic) []byte {
	v := n.cluster.View()
	p := proto.NewProxy(proto.Identity{Name: t.Name + ".link", Category: v.Graph.Instance()})
	for _, m := range v.Members {
		for _, text := range m.Addresses["ice"] {
			endpoints, err := proto.ParseEndpoints(text)
			if err != nil {
				continue // of a newer program
			}
			for _, e := range endpoints {
				if e.Type != proto.EndpointUDP {
					p.Endpoints = append(p.Endpoints, e)
				}
			}
		}
	}
	return proto.AppendProxy(nil, &p, proto.Encoding11)
}

// eventStream is the name of the streams of native events.
const eventStream = "native.events"

// hello says who opens a stream.
type hello struct {
	Node    string `json:"node"`
	Cluster string `json:"cluster"`
}

func helloBytes(node, clusterID string) []byte {
	b, err := json.Marshal(hello{node, clusterID})
	if err != nil {
		return nil // never: two strings
	}
	return b
}

// serveStream takes the streams other nodes open.
func (n *node) serveStream(ctx context.Context, s *wire.Stream) {
	var h hello
	err := json.Unmarshal(s.Hello(), &h)
	switch {
	case err != nil || s.Name() != eventStream:
		err = fmt.Errorf("no streams of name %q here", s.Name())
	case claims(s, h.Node) != nil:
		err = claims(s, h.Node)
	case h.Cluster != n.cluster.Identity().ClusterID:
		err = fmt.Errorf("this is cluster %s, not %s", n.cluster.Identity().ClusterID, h.Cluster)
	default:
		err = n.native.Serve(ctx, h.Node, s)
	}
	n.log.Debug("event stream ended", "node", h.Node, "error", err)
	_ = s.CloseWithError(err) // the stream is over either way
}
