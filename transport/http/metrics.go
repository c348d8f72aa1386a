package http

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Metrics collects the figures of one scrape and writes them in the text
// format of Prometheus (version 0.0.4). It is not safe for concurrent use.
type Metrics struct {
	families map[string]*family
}

// family is one metric with all its samples.
type family struct {
	name, kind, help string
	samples          []sample
}

type sample struct {
	labels string
	value  float64
}

// NewMetrics returns an empty collection.
func NewMetrics() *Metrics { return &Metrics{families: map[string]*family{}} }

// Counter adds a sample of a counter, whose name ends in _total. labels are
// names and values in turn.
func (m *Metrics) Counter(name, help string, value float64, labels ...string) {
	m.add("counter", name, help, value, labels)
}

// Gauge adds a sample of a gauge. labels are names and values in turn.
func (m *Metrics) Gauge(name, help string, value float64, labels ...string) {
	m.add("gauge", name, help, value, labels)
}

func (m *Metrics) add(kind, name, help string, value float64, labels []string) {
	f := m.families[name]
	if f == nil {
		f = &family{name: name, kind: kind, help: help}
		m.families[name] = f
	}
	f.samples = append(f.samples, sample{labelText(labels), value})
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelText(labels []string) string {
	if len(labels) < 2 {
		return ""
	}
	var b strings.Builder
	for i := 0; i+1 < len(labels); i += 2 {
		b.WriteString([]string{",", "{"}[max(0, 1-i)])
		fmt.Fprintf(&b, `%s="%s"`, labels[i], labelEscapes.Replace(labels[i+1]))
	}
	b.WriteByte('}')
	return b.String()
}

// WriteTo writes all families sorted by name, each family's samples sorted
// by their labels.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	all := make([]*family, 0, len(m.families))
	for _, f := range m.families {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *family) int { return cmp.Compare(a.name, b.name) })
	for _, f := range all {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		slices.SortStableFunc(f.samples, func(a, b sample) int { return cmp.Compare(a.labels, b.labels) })
		for _, s := range f.samples {
			b.WriteString(f.name + s.labels + " " + number(s.value) + "\n")
		}
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func number(v float64) string {
	if math.IsInf(v, 0) {
		return map[bool]string{true: "+Inf", false: "-Inf"}[v > 0]
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// runtimeFigures adds what the Go runtime knows of this process.
func runtimeFigures(m *Metrics) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	m.Gauge("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	m.Gauge("go_memstats_heap_alloc_bytes", "Bytes of heap objects.", float64(mem.HeapAlloc))
	m.Gauge("go_memstats_sys_bytes", "Bytes obtained from the system.", float64(mem.Sys))
	m.Counter("go_gc_cycles_total", "Completed garbage collections.", float64(mem.NumGC))
}

// metrics answers in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	m := NewMetrics()
	runtimeFigures(m)
	if s.config.Gather != nil {
		s.config.Gather(m)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = m.WriteTo(w) // the client is gone if this fails
}
