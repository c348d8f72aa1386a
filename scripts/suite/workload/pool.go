package workload

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// pool is what the clients of the graph workload share: which topics and links
// there are to work on. It is safe for concurrent use.
type pool struct {
	mu     sync.Mutex
	count  int
	topics []string        // made for certain and not asked to be destroyed
	links  []string        // made for certain and not asked to be removed
	tried  map[string]bool // links that were ever asked for
	used   [slots]int      // operations on each contended topic
}

const (
	// slots is how many topics are contended at a time.
	slots = 8
	// perSlot is after how many operations a contended topic gives way to a new
	// one, so that a checker can take its history.
	perSlot = 80
	// stable is how many topics have contended links.
	stable = 6
)

func newPool() *pool { return &pool{tried: map[string]bool{}} }

// fresh returns a name that nobody used before.
func (p *pool) fresh(prefix string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return fmt.Sprintf("%s-%d", prefix, p.count)
}

func (p *pool) addTopic(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = append(p.topics, name)
}

func (p *pool) addLink(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links = append(p.links, key)
}

// topic returns a topic that is there, or none.
func (p *pool) topic(r *rand.Rand) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.topics) == 0 {
		return "", false
	}
	return p.topics[r.IntN(len(p.topics))], true
}

// takeTopic returns a topic that nobody else will then be given.
func (p *pool) takeTopic(r *rand.Rand) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return take(&p.topics, r)
}

// takeLink returns a link that nobody else will then be given.
func (p *pool) takeLink(r *rand.Rand) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return take(&p.links, r)
}

func take(from *[]string, r *rand.Rand) (string, bool) {
	all := *from
	if len(all) == 0 {
		return "", false
	}
	i := r.IntN(len(all))
	chosen := all[i]
	all[i] = all[len(all)-1]
	*from = all[:len(all)-1]
	return chosen, true
}

// newPair returns two topics that were never linked.
func (p *pool) newPair(r *rand.Rand) (from, to string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.topics) == 0 {
		return "", "", false
	}
	from, to = p.topics[r.IntN(len(p.topics))], p.topics[r.IntN(len(p.topics))]
	return from, to, p.claim(from + ">" + to)
}

// first says whether a link was never asked for before.
func (p *pool) first(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claim(key)
}

func (p *pool) claim(key string) bool {
	tried := p.tried[key]
	p.tried[key] = true
	return !tried
}

// contended returns the name of a topic that several clients make and destroy.
func (p *pool) contended(r *rand.Rand) string {
	slot := r.IntN(slots)
	p.mu.Lock()
	defer p.mu.Unlock()
	life := p.used[slot] / perSlot
	p.used[slot]++
	return fmt.Sprintf("contended-%d-%d", slot, life)
}

func stableTopic(n int) string { return fmt.Sprintf("stable-%d", n) }
