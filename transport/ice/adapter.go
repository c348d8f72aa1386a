package ice

import (
	"context"
	"errors"
	"slices"
	"time"

	"floe/transport/ice/proto"
)

// Adapter says how this node is registered at an IceGrid registry. The zero
// value is not at all.
type Adapter struct {
	// ID is the adapter id this node's endpoints are registered under.
	ID string
	// ReplicaGroup makes the adapter one of that group; may be empty.
	ReplicaGroup string
	// Locator is the registry's locator.
	Locator proto.Proxy
	// Every is how often the registration is checked (10s).
	Every time.Duration
}

const (
	registerTimeout = 5 * time.Second
	withdrawTimeout = 2 * time.Second
)

// keepRegistered registers the adapter, looks again and again whether the
// registry still knows it, and withdraws it in the end.
func (f *Face) keepRegistered(ctx context.Context) {
	every := f.config.Adapter.Every
	if every == 0 {
		every = 10 * time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var said string
	for {
		err := f.register(ctx)
		said = f.sayRegistered(said, err, ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.withdraw()
			return
		}
	}
}

// sayRegistered logs a change of what registering came to, and only that.
func (f *Face) sayRegistered(before string, err error, ctx context.Context) string {
	now := "registered"
	if err != nil {
		now = err.Error()
	}
	if now == before || ctx.Err() != nil {
		return before
	}
	if err != nil {
		f.log.Warn("adapter not registered, trying again", "adapter", f.config.Adapter.ID, "error", err)
	} else {
		f.log.Info("adapter registered", "adapter", f.config.Adapter.ID, "replica_group", f.config.Adapter.ReplicaGroup)
	}
	return now
}

func (f *Face) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	if f.isRegistered(ctx) {
		return nil
	}
	p := proto.NewProxy(proto.Identity{Name: "dummy"}, f.own...)
	return f.setDirectProxy(ctx, &p)
}

// isRegistered asks the locator for our adapter.
func (f *Face) isRegistered(ctx context.Context) bool {
	params := encapsulate(func(dst []byte) []byte { return proto.AppendString(dst, f.config.Adapter.ID) })
	found, err := f.callForProxy(ctx, &f.config.Adapter.Locator, "findAdapterById", params)
	return err == nil && slices.EqualFunc(found.Endpoints, f.own, sameEndpoint)
}

func sameEndpoint(a, b proto.Endpoint) bool {
	return a.Type == b.Type && a.Host == b.Host && a.Port == b.Port
}

// withdraw tells the registry that the adapter is gone. The registry may be
// gone too, so this is tried once.
func (f *Face) withdraw() {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	if err := f.setDirectProxy(ctx, &proto.Proxy{}); err != nil {
		f.log.Warn("adapter not withdrawn", "adapter", f.config.Adapter.ID, "error", err)
	}
}

// setDirectProxy gives the registry the adapter's proxy, null to withdraw it.
func (f *Face) setDirectProxy(ctx context.Context, p *proto.Proxy) error {
	a := f.config.Adapter
	registry, err := f.callForProxy(ctx, &a.Locator, "getRegistry", nil)
	if err != nil {
		return err
	}
	if registry.IsNull() {
		return errors.New("the locator has no registry")
	}
	operation := "setAdapterDirectProxy"
	if a.ReplicaGroup != "" {
		operation = "setReplicatedAdapterDirectProxy"
	}
	params := encapsulate(func(dst []byte) []byte {
		dst = proto.AppendString(dst, a.ID)
		if a.ReplicaGroup != "" {
			dst = proto.AppendString(dst, a.ReplicaGroup)
		}
		return proto.AppendProxy(dst, p, proto.Encoding11)
	})
	_, err = f.call(ctx, &registry, operation, proto.ModeIdempotent, params)
	return err
}

// callForProxy calls a query of the locator.
func (f *Face) callForProxy(ctx context.Context, target *proto.Proxy, operation string, params []byte) (proto.Proxy, error) {
	result, err := f.call(ctx, target, operation, proto.ModeNonmutating, params)
	if err != nil {
		return proto.Proxy{}, err
	}
	return proxyIn(result)
}
