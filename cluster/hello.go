package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"floe/cluster/logstore"
	"floe/fsm"
)

// nodeInfo is what nodes tell of themselves in a hello, both ways.
type nodeInfo struct {
	ID          string         `json:"id"`
	Nonce       string         `json:"nonce"`
	Cluster     string         `json:"cluster,omitempty"`
	State       logstore.Phase `json:"state"`
	Incarnation uint64         `json:"incarnation"`
	Address     string         `json:"address"`
	Uptime      int64          `json:"uptime_ms"`
	Program     string         `json:"program,omitempty"`
	Supports    uint32         `json:"supports"`
	Expect      int            `json:"expect,omitempty"`
	Draining    bool           `json:"draining,omitempty"`
	Role        string         `json:"role"`
	Leader      string         `json:"leader,omitempty"`
	Term        uint64         `json:"term,omitempty"`
	Applied     uint64         `json:"applied"`
	// Full says that it has no room for changes, Halted that it stopped applying.
	Full     bool     `json:"full,omitempty"`
	Halted   bool     `json:"halted,omitempty"`
	Unproven bool     `json:"unproven,omitempty"` // nobody vouched for it yet
	VoteTerm uint64   `json:"vote_term,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Seen is what the sender knows of the node that it answers.
	Seen *logstore.Sight `json:"seen,omitempty"`
	// Marks are digests of the sender's state at some indexes.
	Marks     []mark            `json:"marks,omitempty"`
	Addresses map[string]string `json:"addresses,omitempty"` // of all nodes it knows
}

func (n *Node) info() nodeInfo {
	id := n.Identity()
	_, addresses := n.book.all()
	addresses[n.id] = n.cfg.Network.Address
	return nodeInfo{
		ID: n.id, Nonce: n.nonce, Cluster: id.ClusterID, State: id.State, Incarnation: incarnationOf(id),
		Address: n.cfg.Network.Address, Uptime: time.Since(n.started).Milliseconds(), Program: n.cfg.Program,
		Supports: fsm.ProgramVersion, Expect: n.cfg.BootstrapExpect, Draining: n.draining.Load(),
		Role: n.role(), Leader: n.LeaderID(), Term: n.Term(), Applied: n.View().Index, Problems: n.listProblems(), Addresses: addresses,
		Full: n.space.full.Load(), Halted: n.state.Halted() != nil, Unproven: !n.vouched.Load(), VoteTerm: id.VoteTerm, Marks: n.marks.list(),
	}
}

// hello answers a hello and learns from it.
func (n *Node) hello(_ context.Context, caller string, from nodeInfo) (nodeInfo, error) {
	if from.ID != caller {
		return nodeInfo{}, refused(codeInvalid, "node %s says hello as node %s", caller, from.ID)
	}
	n.learn(from)
	info := n.info()
	if seen, ok := n.witness.of(from.ID); ok && from.Cluster == info.Cluster {
		info.Seen = &seen
	}
	return info, nil
}

// greeting is one answer to a hello.
type greeting struct {
	address string
	info    nodeInfo
	err     error
}

// greet says hello to all addresses at once, and returns who answered in
// time, in the order of the addresses. This process itself is left out.
func (n *Node) greet(ctx context.Context, addresses []string) []greeting {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.askTime())
	defer cancel()
	all := make([]greeting, len(addresses))
	var wg sync.WaitGroup
	for i, address := range addresses {
		wg.Go(func() {
			info, err := ask[nodeInfo](ctx, n, address, "cluster.hello", n.info())
			all[i] = greeting{address, info, err}
		})
	}
	wg.Wait()
	for i, g := range all {
		if g.err != nil {
			n.book.failed(addresses[i])
			continue
		}
		n.learn(g.info)
	}
	return slices.DeleteFunc(all, func(g greeting) bool { return g.err == nil && g.info.Nonce == n.nonce })
}

// answered leaves the greetings that were answered.
func answered(all []greeting) []nodeInfo {
	var out []nodeInfo
	for _, g := range all {
		if g.err == nil {
			out = append(out, g.info)
		}
	}
	return out
}

// learn takes addresses from a node of our cluster.
func (n *Node) learn(from nodeInfo) {
	ours := n.clusterID()
	if from.Nonce == n.nonce || ours == "" || from.Cluster != ours {
		return
	}
	if from.ID == n.id {
		return // see checkDouble
	}
	if m, known := n.View().Member(from.ID); known && from.Incarnation < m.Incarnation {
		return // a removed namesake
	}
	if from.State == logstore.Member || from.State == logstore.Joining {
		n.book.heard(from.ID, from.Address)
	}
	n.book.told(from.Addresses)
	n.testify(from)
}

// askAround says hello to the nodes of those ids at once, by the address
// book; those who don't answer are missing from the map.
func (n *Node) askAround(ctx context.Context, ids []string) map[string]nodeInfo {
	out, _ := n.askAll(ctx, ids)
	return out
}

// askAll is askAround, and says why others did not answer.
func (n *Node) askAll(ctx context.Context, ids []string) (out map[string]nodeInfo, failed map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.askTime())
	defer cancel()
	var mu sync.Mutex
	out, failed = map[string]nodeInfo{}, map[string]error{}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			info, err := n.helloTo(ctx, id)
			if err == nil && (info.ID != id || info.Cluster != n.clusterID()) {
				err = fmt.Errorf("node %s of cluster %q answers there", info.ID, info.Cluster)
			}
			if err == nil {
				n.learn(info)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[id] = err
				return
			}
			out[id] = info
		})
	}
	wg.Wait()
	return out, failed
}

func (n *Node) helloTo(ctx context.Context, id string) (nodeInfo, error) {
	if id == n.id {
		return n.info(), nil
	}
	return askNode[nodeInfo](ctx, n, id, "cluster.hello", n.info())
}

// places returns all addresses where members may be found.
func (n *Node) places() []string {
	known, _ := n.book.all()
	for _, address := range n.cfg.Join {
		if !slices.Contains(known, address) {
			known = append(known, address)
		}
	}
	return slices.DeleteFunc(known, func(a string) bool { return a == n.cfg.Network.Address })
}

// Bounds of the pauses between two rounds of looking for others.
const (
	lookSoon  = 50 * time.Millisecond
	lookLater = 2 * time.Second
	lookCalm  = 30 * time.Second
)

// lookAround says hello to everybody as long as there is no leader, and now
// and then while there is one: so a node that came back elsewhere is found.
func (h *half) lookAround(ctx context.Context) {
	wait := lookSoon
	group := fellows{n: h.n}
	defer h.n.setProblem("leader", "")
	for ctx.Err() == nil {
		changed, stirred := h.n.leaders.changed.next(), h.n.stirred.next()
		all := h.n.greet(ctx, h.n.places())
		if ctx.Err() != nil {
			return
		}
		infos, again := answered(all), group.note(all)
		h.n.checkDouble(ctx, infos)
		h.checkOutlived(ctx, infos)
		leader, _, lost := h.n.leaders.get()
		if leader != "" {
			wait = lookSoon
			h.n.setProblem("leader", "")
			calm := lookCalm
			if again {
				calm = lookLater
			}
			waitCalm(ctx, calm, changed, stirred)
			continue
		}
		if time.Since(lost) > 2*h.n.cfg.Timing.Election {
			h.n.noteLeaderless(infos)
			h.askBelonging(ctx)
		}
		pause(ctx, wait)
		wait = min(2*wait, lookLater)
	}
}

// waitCalm waits until the leader changes, gossip sees a node come or go, or
// for long.
func waitCalm(ctx context.Context, long time.Duration, changed, stirred <-chan struct{}) {
	t := time.NewTimer(long)
	defer t.Stop()
	select {
	case <-changed:
	case <-stirred:
	case <-t.C:
	case <-ctx.Done():
	}
}

// checkDouble ends this process where another, older one has its id.
func (n *Node) checkDouble(ctx context.Context, infos []nodeInfo) {
	for _, info := range infos {
		other := info.Addresses[n.id]
		if info.ID == n.id {
			other = info.Address
		}
		if other == "" || other == n.cfg.Network.Address || info.Cluster != n.clusterID() {
			continue
		}
		if err := n.doubleAt(ctx, other); err != nil {
			n.end(err)
			return
		}
	}
}

// doubleAt asks at an address whether a process that was there before us
// has our id.
func (n *Node) doubleAt(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.askTime())
	defer cancel()
	info, err := ask[nodeInfo](ctx, n, address, "cluster.hello", n.info())
	if err != nil || !n.isDouble(info) {
		return nil
	}
	return &DuplicateID{ID: n.id, Address: address, Dir: n.cfg.DataDir, Detail: " which is running"}
}

func (n *Node) isDouble(info nodeInfo) bool {
	if info.ID != n.id || info.Nonce == n.nonce || info.Cluster != n.clusterID() {
		return false
	}
	if info.State == logstore.Left || info.State == logstore.Removed {
		return false
	}
	ours := time.Since(n.started).Milliseconds()
	return info.Uptime > ours || info.Uptime == ours && info.Nonce < n.nonce
}
