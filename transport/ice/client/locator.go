package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"floe/transport/ice/proto"
)

// locator turns proxies without endpoints into addresses, by asking an Ice
// locator such as IceGrid's. What it learnt it keeps.
type locator struct {
	client *Client
	mu     sync.Mutex
	known  map[string]located
}

type located struct {
	endpoints []proto.Endpoint
	at        time.Time
}

// maxLocated bounds the cache; beyond it all is forgotten.
const maxLocated = 10_000

func newLocator(c *Client) *locator {
	return &locator{client: c, known: make(map[string]located)}
}

// addresses returns where to send to a proxy's object, in random order. ttl
// is for how long an answer of the locator may be used again; negative is for
// ever, but it is asked again as soon as nothing can be reached there.
func (l *locator) addresses(ctx context.Context, p *proto.Proxy, ttl time.Duration) ([]address, error) {
	if len(p.Endpoints) > 0 {
		return usable(p)
	}
	key := p.AdapterID
	if key == "" {
		key = "\x00" + p.Identity.String()
	}
	if endpoints, found := l.recall(key, ttl); found && l.works(ctx, p, endpoints) {
		return usable(with(p, endpoints))
	}
	endpoints, err := l.ask(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("locate %s: %w", p.String(), err)
	}
	l.remember(key, endpoints)
	return usable(with(p, endpoints))
}

func with(p *proto.Proxy, endpoints []proto.Endpoint) *proto.Proxy {
	direct := *p
	direct.Endpoints = endpoints
	return &direct
}

func (l *locator) recall(key string, ttl time.Duration) ([]proto.Endpoint, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, found := l.known[key]
	if !found || ttl >= 0 && time.Since(k.at) >= ttl {
		return nil, false
	}
	return k.endpoints, true
}

func (l *locator) remember(key string, endpoints []proto.Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxLocated {
		clear(l.known)
	}
	l.known[key] = located{endpoints: endpoints, at: time.Now()}
}

// works tells whether one of the endpoints remembered can still be reached.
// The connection made stays in the cache for the caller.
func (l *locator) works(ctx context.Context, p *proto.Proxy, endpoints []proto.Endpoint) bool {
	list, err := usable(with(p, endpoints))
	if err != nil {
		return false
	}
	_, err = l.client.reach(ctx, list)
	return err == nil
}

// ask asks the locator. Its answer for an object may be a proxy with an
// adapter, which is asked for then.
func (l *locator) ask(ctx context.Context, p *proto.Proxy) ([]proto.Endpoint, error) {
	if l.client.config.Locator.IsNull() {
		return nil, fmt.Errorf("%w: it has none, and no locator is configured", ErrNoEndpoint)
	}
	found := *p
	for step := 0; step < 2 && len(found.Endpoints) == 0; step++ {
		operation, params := "findObjectById", identityParams(found.Identity)
		if found.AdapterID != "" {
			operation, params = "findAdapterById", stringParams(found.AdapterID)
		}
		next, err := l.find(ctx, operation, params)
		if err != nil {
			return nil, err
		}
		found = next
	}
	if len(found.Endpoints) == 0 {
		return nil, fmt.Errorf("%w: the locator knows none at the moment", ErrNoEndpoint)
	}
	return found.Endpoints, nil
}

func (l *locator) find(ctx context.Context, operation string, params []byte) (proto.Proxy, error) {
	r, err := l.client.Call(ctx, &l.client.config.Locator, operation, proto.ModeIdempotent, nil, params)
	if err == nil {
		err = r.Err()
	}
	if errors.As(err, new(*proto.UserException)) {
		return proto.Proxy{}, fmt.Errorf("%w: %w", ErrNotRegistered, err)
	}
	if err != nil {
		return proto.Proxy{}, fmt.Errorf("ask the locator: %w", err)
	}
	return proxyResult(&r)
}

func identityParams(id proto.Identity) []byte {
	b, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	return proto.EndEncapsulation(proto.AppendIdentity(b, id), start)
}

func stringParams(s string) []byte {
	b, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	return proto.EndEncapsulation(proto.AppendString(b, s), start)
}
