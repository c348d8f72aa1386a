package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"floe/scripts/suite/history"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// Patience is how long a client waits for an answer.
const Patience = 5 * time.Second

// Node is where a client finds a node.
type Node struct {
	Name string
	HTTP string // host:port
	// IceHost and IcePort are the Ice listener.
	IceHost string
	IcePort int
	// RMR is the listener that forwards messages, RTG the one that gives
	// route tables: host:port.
	RMR, RTG string
	// Within calls f where sockets that it opens belong to the node's
	// machine.
	Within func(f func() error) error
}

// newClient returns a client of one node only: it must not ask another one
// when the outcome is in doubt.
func newClient(n Node) *client.Client {
	return client.New(client.Config{Addresses: []string{n.HTTP}, Timeout: Patience})
}

// stream returns the random numbers of one client.
func stream(seed uint64, number int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(number)))
}

// pace calls f once every interval until ctx ends. A call that takes longer
// delays the next one.
func pace(ctx context.Context, every time.Duration, f func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		f()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// refused are the refusals that tell what a change found, by operation.
var refused = map[string]api.Kind{
	"create": api.TopicExists, "destroy": api.NoSuchTopic, "link": api.LinkExists, "unlink": api.NoSuchLink,
}

// end records how a change ended.
func end(p *history.Pending, function string, seen *history.Value, err error) (done bool) {
	switch kind := kindOf(err); {
	case err == nil:
		p.OK(seen)
		return true
	case kind != "" && kind == refused[function]:
		p.OK(&history.Value{Refused: true})
	case unsure(kind):
		p.Info(string(kind) + ": " + err.Error())
	default:
		p.Fail(string(kind) + ": " + err.Error())
	}
	return false
}

// kindOf returns the kind of an error of the API, empty for others.
func kindOf(err error) api.Kind {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// unsure says whether a change that ended like this may have taken effect:
// floe has to say so; whatever is no answer of floe's counts as well.
func unsure(kind api.Kind) bool {
	return kind == "" || kind == api.UnknownOutcome || kind == api.Internal
}
