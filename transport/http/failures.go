package http

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/http/api"
)

// failures counts calls that were answered with an error, and logs those that
// met a limit, no more than one in a while.
type failures struct {
	mu     sync.Mutex
	by     map[api.Kind]uint64
	next   time.Time // no line before
	silent uint64    // since the last line
}

// newFailures has the limits counted from 0, so that rates see the first one.
func newFailures() *failures {
	return &failures{by: map[api.Kind]uint64{api.Limit: 0, api.TooLarge: 0}}
}

func (f *failures) note(log hclog.Logger, r *http.Request, e *api.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[e.Kind]++
	if e.Kind != api.Limit && e.Kind != api.TooLarge {
		return
	}
	now := time.Now()
	if now.Before(f.next) {
		f.silent++
		return
	}
	log.Warn("call refused, it is over a limit", "method", r.Method, "path", r.URL.Path, "peer", r.RemoteAddr, "kind", e.Kind, "reason", e.Message, "unreported_before", f.silent)
	f.silent, f.next = 0, now.Add(complainEvery)
}

func (f *failures) counts() map[api.Kind]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.by)
}
