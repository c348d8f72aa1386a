package http

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"floe/transport/http/api"
)

// maxScrapes is how many scrapes run at a time; those beyond are answered
// with 503, and counted as calls over a limit. A scrape of many topics holds a few megabytes.
const maxScrapes = 4

// newMetrics returns what answers GET /metrics: the node's figures, and what
// the library knows of the Go runtime and the process, in the text format
// of Prometheus. The registry is this server's own, so that several nodes
// may run in one process. A figure that can't be given is logged and left
// out. It panics where two collectors claim one name.
func (s *Server) newMetrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(s.config.Collectors...)
	scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:      scrapeLog{s},
		ErrorHandling: promhttp.ContinueOnError,
	})
	places := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			e := &api.Error{Kind: api.Limit, Message: fmt.Sprintf("%d scrapes are under way, which is the limit", maxScrapes)}
			s.failures.note(s.log, r, e)
			http.Error(w, e.Message, http.StatusServiceUnavailable)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyTimeout)) // httptest's recorder has none
		scrape.ServeHTTP(w, r)
	})
}

// scrapeLog is where the library says what went wrong with a scrape.
type scrapeLog struct{ *Server }

// Println logs one line, but of a connection that broke or was too slow, which
// the library says once for each family.
func (l scrapeLog) Println(v ...any) {
	for _, said := range v {
		err, _ := said.(error)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, new(*net.OpError)) {
			return
		}
	}
	l.log.Warn("a scrape is not complete", "error", v)
}
