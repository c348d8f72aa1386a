package workload

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"floe/scripts/suite/history"
	"floe/scripts/suite/ice"
	"floe/transport/ice/proto"
)

// proxyPace is how often each node is asked for a topic's proxies.
const proxyPace = 500 * time.Millisecond

// watchProxies asks a node over Ice for the proxies of topics, all the time.
func (g *Graph) watchProxies(ctx context.Context, n Node, r *rand.Rand) {
	var conn *ice.Conn
	pace(ctx, proxyPace, func() {
		if conn == nil {
			conn, _ = ice.Dial(n.iceAddress(), Patience) // a node that is down is asked again
		}
		if conn != nil && !g.askProxies(conn, n, stableTopic(r.IntN(stable))) {
			conn.Close()
			conn = nil
		}
	})
	if conn != nil {
		conn.Close()
	}
}

// askProxies asks for a topic and its publisher; false: the connection is of
// no further use.
func (g *Graph) askProxies(conn *ice.Conn, n Node, name string) bool {
	p := g.Log.Invoke("proxies-"+n.Name, n.Name, "proxy", name, nil)
	topic, err := conn.TopicProxy(name, Patience)
	if err != nil {
		p.Fail(err.Error())
		return false
	}
	p.OK(&history.Value{Text: canonical(topic)})
	p = g.Log.Invoke("proxies-"+n.Name, n.Name, "proxy", name+".publish", nil)
	publisher, err := conn.Publisher(topic.Identity, Patience)
	if err != nil {
		p.Fail(err.Error())
		return false
	}
	p.OK(&history.Value{Text: canonical(publisher)})
	return true
}

// canonical is a proxy's text with its endpoints in order: each node names
// itself first.
func canonical(p proto.Proxy) string {
	slices.SortFunc(p.Endpoints, func(a, b proto.Endpoint) int { return strings.Compare(a.String(), b.String()) })
	return p.String()
}
func (n Node) iceAddress() string { return net.JoinHostPort(n.IceHost, strconv.Itoa(n.IcePort)) }
