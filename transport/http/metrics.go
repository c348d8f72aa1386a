package http

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is how many scrapes run at a time; those beyond are answered
// with 503. A scrape of many topics holds a few megabytes.
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
		ErrorLog:            scrapeLog{s},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyTimeout)) // httptest's recorder has none
		scrape.ServeHTTP(w, r)
	})
}

// scrapeLog is where the library says what went wrong with a scrape.
type scrapeLog struct{ *Server }

// Println logs one line.
func (l scrapeLog) Println(v ...any) { l.log.Warn("a scrape is not complete", "error", v) }
