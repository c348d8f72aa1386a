package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/memberlist"

	"floe/cluster/logstore"
)

// maxKeys is how many secrets of the gossip a node holds at a time: each is
// tried on what comes in.
const maxKeys = 8

// ring is a node's secrets of the gossip: it sends with the first, and takes
// what comes by any. Without secrets gossip is in the clear.
type ring struct {
	mu     sync.Mutex
	keys   [][]byte
	living *memberlist.Keyring // that of memberlist; nil: none runs
}

// KeyID names a secret without telling it.
func KeyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("floe gossip key "), key...))
	return hex.EncodeToString(sum[:4])
}

// KeyUse is one secret of the gossip, as the nodes of the cluster have it.
type KeyUse struct {
	// ID names it.
	ID string
	// Nodes have it, Senders send with it, both sorted.
	Nodes, Senders []string
}

// loadKeys takes the secrets of the data directory, or that of the
// configuration where they were never changed.
func (n *Node) loadKeys() error {
	stored, err := logstore.ReadKeys(n.cfg.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if n.cfg.GossipKey != nil {
			n.ring.keys = [][]byte{n.cfg.GossipKey}
		}
		return nil
	case err != nil:
		return err
	}
	n.ring.keys = stored.Keys
	if n.cfg.GossipKey != nil && n.find(KeyID(n.cfg.GossipKey)) < 0 {
		n.log.Warn("the gossip secret given at the start is none of the ring any more; that of the data directory counts", "given", KeyID(n.cfg.GossipKey))
	}
	return nil
}

// forGossip returns memberlist's ring, nil for gossip in the clear.
func (r *ring) forGossip() (*memberlist.Keyring, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		return nil, nil
	}
	var err error
	r.living, err = memberlist.NewKeyring(r.keys, r.keys[0])
	return r.living, err
}

func (n *Node) find(id string) int {
	return slices.IndexFunc(n.ring.keys, func(k []byte) bool { return KeyID(k) == id })
}

// keyOrder asks a node about its ring, or to change it.
type keyOrder struct {
	Do  string `json:"do"`            // list, add, use, remove
	ID  string `json:"id,omitempty"`  // of use and remove
	Key []byte `json:"key,omitempty"` // of add
}

type keyReply struct {
	IDs []string `json:"ids"` // the first is sent with
}

// obeyKeys answers a keyOrder of another node, or of this one.
func (n *Node) obeyKeys(_ context.Context, from string, o keyOrder) (keyReply, error) {
	n.ring.mu.Lock()
	defer n.ring.mu.Unlock()
	if o.Do != "list" {
		if err := n.changeKeys(o); err != nil {
			return keyReply{}, err
		}
		n.log.Info("gossip secrets changed", "by", from, "what", o.Do, "key", o.key())
	}
	var reply keyReply
	for _, k := range n.ring.keys {
		reply.IDs = append(reply.IDs, KeyID(k))
	}
	return reply, nil
}

// key is the id of the secret the order is about.
func (o keyOrder) key() string {
	if o.Key != nil {
		return KeyID(o.Key)
	}
	return o.ID
}

// changeKeys changes the ring, on the disk first. A change that was made
// before is made again without harm.
func (n *Node) changeKeys(o keyOrder) error {
	if len(n.ring.keys) == 0 {
		return refused(CodeKeys, "gossip of node %s is in the clear; start all nodes with --gossip-key-file", n.id)
	}
	keys, at := slices.Clone(n.ring.keys), n.find(o.ID)
	switch {
	case o.Do == "add":
		if err := memberlist.ValidateKey(o.Key); err != nil {
			return refused(codeInvalid, "a secret of the gossip has 16, 24 or 32 bytes, not %d", len(o.Key))
		}
		if n.find(KeyID(o.Key)) >= 0 {
			return nil
		}
		if len(keys) >= maxKeys {
			return refused(CodeKeys, "node %s holds %d secrets, which is the limit; remove old ones", n.id, maxKeys)
		}
		keys = append(keys, o.Key)
	case o.Do == "use" && at >= 0:
		key := keys[at]
		keys = slices.Insert(slices.Delete(keys, at, at+1), 0, key)
	case o.Do == "remove" && at == 0:
		return refused(CodeKeys, "node %s sends with %s; have it use another one first", n.id, o.ID)
	case o.Do == "remove" && at > 0:
		keys = slices.Delete(keys, at, at+1)
	case o.Do == "remove":
		return nil
	default:
		return refused(CodeKeys, "node %s does not have the secret %s", n.id, o.ID)
	}
	if err := logstore.WriteKeys(n.cfg.DataDir, logstore.Keys{Keys: keys}); err != nil {
		return err
	}
	old := n.ring.keys
	n.ring.keys = keys
	return n.ring.tell(old)
}

// tell passes a change on to the memberlist that runs.
func (r *ring) tell(old [][]byte) error {
	if r.living == nil {
		return nil
	}
	for _, k := range r.keys {
		if err := r.living.AddKey(k); err != nil {
			return err
		}
	}
	if err := r.living.UseKey(r.keys[0]); err != nil {
		return err
	}
	for _, k := range old {
		if !slices.ContainsFunc(r.keys, func(x []byte) bool { return bytes.Equal(x, k) }) {
			if err := r.living.RemoveKey(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// Keys asks all nodes which secrets of the gossip they have, sorted by id.
// silent are those that did not answer.
func (n *Node) Keys(ctx context.Context) (all []KeyUse, silent []string) {
	by := map[string]*KeyUse{}
	replies, failed := n.orderAll(ctx, keyOrder{Do: "list"})
	for _, node := range n.serverIDs() {
		reply, ok := replies[node]
		if !ok {
			continue
		}
		for i, id := range reply.IDs {
			if by[id] == nil {
				by[id] = &KeyUse{ID: id}
			}
			by[id].Nodes = append(by[id].Nodes, node)
			if i == 0 {
				by[id].Senders = append(by[id].Senders, node)
			}
		}
	}
	for _, use := range by {
		all = append(all, *use)
	}
	slices.SortFunc(all, func(a, b KeyUse) int { return strings.Compare(a.ID, b.ID) })
	for node := range failed {
		silent = append(silent, node)
	}
	slices.Sort(silent)
	return all, silent
}

// AddKey gives all nodes a further secret of the gossip, which they take from
// others and do not send with yet. UseKey has them send with it, once all have
// it; RemoveKey takes one away that no node sends with. All nodes have to
// answer; where one does not, or refuses, nothing may be changed, or a part of the
// nodes, and the same call again does the rest.
func (n *Node) AddKey(ctx context.Context, key []byte) error {
	return n.changeAll(ctx, keyOrder{Do: "add", Key: key}, nil)
}

// UseKey: see AddKey.
func (n *Node) UseKey(ctx context.Context, id string) error {
	return n.changeAll(ctx, keyOrder{Do: "use", ID: id}, func(node string, ids []string) error {
		if !slices.Contains(ids, id) {
			return refused(CodeKeys, "node %s does not have the secret %s; add it first", node, id)
		}
		return nil
	})
}

// RemoveKey: see AddKey.
func (n *Node) RemoveKey(ctx context.Context, id string) error {
	known := false
	err := n.changeAll(ctx, keyOrder{Do: "remove", ID: id}, func(node string, ids []string) error {
		known = known || slices.Contains(ids, id)
		if len(ids) > 0 && ids[0] == id {
			return refused(CodeKeys, "node %s sends with %s; have all nodes use another one first", node, id)
		}
		return nil
	})
	if err == nil && !known {
		return refused(CodeKeys, "no node has the secret %s", id)
	}
	return err
}

// changeAll looks whether all nodes answer and may, and then has them change.
func (n *Node) changeAll(ctx context.Context, o keyOrder, may func(node string, ids []string) error) error {
	replies, failed := n.orderAll(ctx, keyOrder{Do: "list"})
	for node, err := range failed {
		return refused(CodeKeys, "node %s does not answer, and all have to: start it, or remove it from the cluster; nothing was changed: %v", node, err)
	}
	for _, node := range n.serverIDs() {
		if reply, ok := replies[node]; ok && may != nil {
			if err := may(node, reply.IDs); err != nil {
				return err
			}
		}
	}
	_, failed = n.orderAll(ctx, o)
	for node, err := range failed {
		return fmt.Errorf("node %s: %w; do it again, for it and others may be left out", node, err)
	}
	return nil
}

// orderAll gives an order to all nodes of the group at once.
func (n *Node) orderAll(ctx context.Context, o keyOrder) (map[string]keyReply, map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	replies, failed := map[string]keyReply{}, map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, node := range n.serverIDs() {
		wg.Go(func() {
			reply, err := askNode[keyReply](ctx, n, node, "cluster.keys", o)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[node] = err
				return
			}
			replies[node] = reply
		})
	}
	wg.Wait()
	return replies, failed
}

func (n *Node) serverIDs() []string {
	var ids []string
	for _, s := range n.View().Servers {
		ids = append(ids, s.ID)
	}
	return ids
}
