package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/memberlist"

	"floe/cluster/logstore"
	"floe/fsm"
)

// meta is what gossip says of a node, in 512 bytes at most.
type meta struct {
	Cluster     string         `json:"c"`
	Incarnation uint64         `json:"i"`
	Address     string         `json:"a"`
	Program     string         `json:"p,omitempty"`
	Supports    uint32         `json:"s"`
	State       logstore.Phase `json:"t"`
	NonVoter    bool           `json:"n,omitempty"`
	Draining    bool           `json:"d,omitempty"`
}

// parseMeta reads what another node gossips.
func parseMeta(b []byte) (meta, error) {
	var m meta
	if len(b) > memberlist.MetaMaxSize {
		return m, fmt.Errorf("gossip of %d bytes", len(b))
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("gossip: %w", err)
	}
	return m, CheckAddress(m.Address)
}

// gossip is memberlist's delegate. It fills the address book with what it
// hears, and knows who seems to live.
type gossip struct {
	n    *Node
	list *memberlist.Memberlist
	ctx  context.Context // ends with the half
	h    *half

	since time.Time
	mu    sync.Mutex
	here  map[string]bool // the nodes seen so far: do they live?
}

// runGossip runs memberlist while the half runs.
func (h *half) runGossip(ctx context.Context) {
	n := h.n
	if n.cfg.Network.Gossip == nil {
		return
	}
	g := &gossip{n: n, h: h, ctx: ctx, since: time.Now(), here: map[string]bool{}}
	config := g.config()
	var err error
	if config.Keyring, err = n.ring.forGossip(); err != nil {
		n.setProblem("gossip", "gossip does not run: "+err.Error())
		return
	}
	list, err := memberlist.Create(config)
	if err != nil {
		n.setProblem("gossip", "gossip does not run: "+err.Error())
		return
	}
	g.list = list
	h.gossip.Store(g)
	g.run(ctx)
	if err := list.Leave(n.cfg.Timing.askTime()); err != nil {
		n.log.Debug("gossip left without a good-bye", "error", err)
	}
	list.Shutdown()
}

func (g *gossip) config() *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	if g.n.cfg.Timing.Gossip == "wan" {
		c = memberlist.DefaultWANConfig()
	}
	c.Name = g.n.id
	c.Label = g.n.clusterID()
	c.Transport = &gossipTransport{g.n.cfg.Network.Gossip}
	c.BindAddr, c.AdvertiseAddr = "0.0.0.0", ""
	if host, port, err := net.SplitHostPort(g.n.cfg.Network.Address); err == nil && net.ParseIP(host) != nil {
		c.AdvertiseAddr = host
		c.AdvertisePort, _ = strconv.Atoi(port)
		c.BindPort = c.AdvertisePort
	}
	c.DeadNodeReclaimTime = time.Nanosecond // a dead node may come back elsewhere
	c.Delegate, c.Events, c.Alive, c.Conflict = g, g, g, g
	c.Logger = log.New(gossipLog{g.n.cfg.Log.Named("gossip")}, "", 0)
	c.DisableTcpPings = true
	c.EnableCompression = false // the peer port looks at what streams announce
	return c
}

// run joins others until all members are seen, and passes on changes of our own.
func (g *gossip) run(ctx context.Context) {
	told := string(g.NodeMeta(memberlist.MetaMaxSize))
	for ctx.Err() == nil {
		poked := g.n.poke.next()
		if now := string(g.NodeMeta(memberlist.MetaMaxSize)); now != told {
			told = now
			// Without a limit it would wait for ever where nobody is left to hear it.
			if err := g.list.UpdateNode(lookSoon); err != nil && ctx.Err() == nil {
				g.n.log.Debug("gossip update", "error", err)
			}
		}
		wait := lookCalm
		if g.list.NumMembers() < len(g.n.View().Servers) {
			places, _ := g.n.book.all()
			g.list.Join(places) // errors are in the log; tried again
			wait = lookLater
		}
		select {
		case <-poked:
			pause(ctx, 2*lookSoon)
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// NodeMeta is what others hear of us.
func (g *gossip) NodeMeta(limit int) []byte {
	id, member := g.n.Identity(), g.n.member()
	b, err := json.Marshal(meta{
		Cluster: id.ClusterID, Incarnation: member.Incarnation, Address: g.n.cfg.Network.Address, Program: member.Program,
		Supports: fsm.ProgramVersion, State: id.State, NonVoter: member.NonVoter, Draining: g.n.draining.Load(),
	})
	if err != nil || len(b) > limit {
		return nil
	}
	return b
}

// NotifyAlive refuses nodes of other clusters, and removed incarnations.
func (g *gossip) NotifyAlive(peer *memberlist.Node) error {
	m, err := parseMeta(peer.Meta)
	if err != nil {
		return err
	}
	if m.Cluster != g.n.clusterID() {
		return fmt.Errorf("node %s belongs to cluster %s", peer.Name, m.Cluster)
	}
	if known, ok := g.n.View().Member(peer.Name); ok && m.Incarnation < known.Incarnation {
		return fmt.Errorf("node %s is an incarnation that was removed", peer.Name)
	}
	return nil
}

// NotifyJoin takes the address of a node.
func (g *gossip) NotifyJoin(peer *memberlist.Node) { g.NotifyUpdate(peer) }

// NotifyUpdate takes the address of a node.
func (g *gossip) NotifyUpdate(peer *memberlist.Node) {
	if m, err := parseMeta(peer.Meta); err == nil && m.Cluster == g.n.clusterID() {
		g.n.book.heard(peer.Name, m.Address)
	}
	g.note(peer.Name, true)
}

// NotifyLeave notes that a node is gone, which is advice only.
func (g *gossip) NotifyLeave(peer *memberlist.Node) { g.note(peer.Name, false) }

func (g *gossip) note(id string, lives bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.here == nil {
		return
	}
	if before, seen := g.here[id]; !seen || before != lives {
		g.n.stirred.fire()
	}
	g.here[id] = lives
}

// meetTime is how long gossip may take to meet the nodes that live.
const meetTime = 10 * time.Second

func (g *gossip) lives(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	lives, seen := g.here[id]
	return lives || !seen && time.Since(g.since) < meetTime
}

// Alive tells whether gossip holds a node to be alive; where no gossip runs,
// all are. It asks nobody: a death is known some seconds later.
func (n *Node) Alive(id string) bool {
	if id == n.id {
		return true
	}
	h := n.half.Load()
	if h == nil {
		return true
	}
	g := h.gossip.Load()
	return g == nil || g.lives(id)
}

// NotifyConflict looks whether another process has our id.
func (g *gossip) NotifyConflict(existing, other *memberlist.Node) {
	if existing.Name != g.n.id {
		return
	}
	m, err := parseMeta(other.Meta)
	if err != nil || m.Address == g.n.cfg.Network.Address {
		return
	}
	g.h.spawn(func() {
		if err := g.n.doubleAt(g.ctx, m.Address); err != nil {
			g.n.end(err)
		}
	})
}

// NotifyMsg, GetBroadcasts, LocalState and MergeRemoteState: nothing else travels by gossip.
func (g *gossip) NotifyMsg([]byte)                {}
func (g *gossip) GetBroadcasts(int, int) [][]byte { return nil }
func (g *gossip) LocalState(bool) []byte          { return nil }
func (g *gossip) MergeRemoteState([]byte, bool)   {}

// gossipTransport keeps the transport open for the next memberlist.
type gossipTransport struct{ memberlist.NodeAwareTransport }

// Shutdown does nothing; Run closes the transport at its end.
func (*gossipTransport) Shutdown() error { return nil }

// gossipLog turns memberlist's lines ("[WARN] memberlist: ...") into hclog's.
type gossipLog struct{ log hclog.Logger }

var _ io.Writer = gossipLog{}

// Write takes one line. What memberlist calls an error is none here: gossip is advice.
func (g gossipLog) Write(line []byte) (int, error) {
	if g.log.IsDebug() {
		g.log.Debug(string(line))
	}
	return len(line), nil
}
