package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
	"floe/transport/http/script"
)

func topCommands() []*command {
	return []*command{
		{name: "top", min: 0, max: 0, prints: true, shell: true,
			short: "show events and messages per second, by topic, link, endpoint and route",
			long: `Show what goes on in the whole cluster, again after each interval: events and
messages per second by topic, link, endpoint and route, the busiest first, with
what was dropped and what waits. On a terminal the screen is drawn anew until
Ctrl-C; elsewhere, and in the shell, there is one picture unless --count says more.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newDuration(time.Second), "interval", "time between two pictures")
				f.Var(newNumber(0, 0, math.MaxInt32), "count", "end after so many pictures; 0: never")
				f.Bool("once", false, "end after one picture")
				f.Var(newNumber(10, 1, math.MaxInt32), "rows", "so many rows of each kind at most")
			},
			example: "floe top\nfloe top --once --interval 10s",
			run:     runTop},
	}
}

// topRates are what came about between two looks, per second.
type topRates struct {
	Seconds   float64        `json:"seconds"`
	Nodes     []string       `json:"nodes"`
	Missing   []string       `json:"missing"`
	Events    rates          `json:"events"`
	Messages  rates          `json:"messages"`
	Topics    []topicRate    `json:"topics"`
	Links     []linkRate     `json:"links"`
	Endpoints []endpointRate `json:"endpoints"`
	Routes    []routeRate    `json:"routes"`
}

// rates are per second; what is queued is as it stands.
type rates struct {
	Offered   float64 `json:"offered"`
	Delivered float64 `json:"delivered"`
	Dropped   float64 `json:"dropped"`
	Queued    uint64  `json:"queued"`
}

type topicRate struct {
	Name      string  `json:"name"`
	Published float64 `json:"published"`
	Arrived   float64 `json:"arrived"`
	rates
	Failing int `json:"failing"`
}

type linkRate struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Forwarded float64 `json:"forwarded"`
}

type endpointRate struct {
	Name string `json:"name"`
	rates
	Dead bool `json:"dead"`
}

// routeRate is of the entries of one type and subscription id, -1 for none.
type routeRate struct {
	MType    int32   `json:"mtype"`
	SubID    int32   `json:"subid"`
	Messages float64 `json:"messages"`
}

func runTop(ctx context.Context, s *session, c *call) error {
	limit := c.number("count")
	switch {
	case c.bool("once") && c.flags.Changed("count"):
		return usagef("--once and --count say two things")
	case s.shell && c.flags.Changed("count") && limit == 0:
		return usagef("in the shell `top' has an end: --count 0 would have none")
	case c.bool("once"), !c.flags.Changed("count") && (s.shell || !showsTerminal(s.out)):
		limit = 1
	}
	interval := c.duration("interval")
	if interval <= 0 {
		return usagef("--interval: a time above 0, such as 1s")
	}
	was, at, err := s.look(ctx)
	if err != nil {
		return err
	}
	for n := int64(0); limit == 0 || n < limit; n++ {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return nil // stopped by the user
		}
		now, then, err := s.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.showRates(ratesOf(was, now, then.Sub(at)), int(c.number("rows"))); err != nil {
			return err
		}
		was, at = now, then
	}
	return nil
}

func (s *session) look(ctx context.Context) (api.Top, time.Time, error) {
	top, err := s.client.Top(ctx)
	return top, time.Now(), err
}

// ratesOf compares two looks. A counter that fell is of a node that came anew
// or does not answer: nothing is known of it.
func ratesOf(was, now api.Top, passed time.Duration) topRates {
	per := func(a, b uint64) float64 {
		if b < a || passed <= 0 {
			return 0
		}
		return float64(b-a) / passed.Seconds()
	}
	counts := func(a, b api.Counts) rates {
		return rates{Offered: per(a.Offered, b.Offered), Delivered: per(a.Delivered, b.Delivered), Dropped: per(a.Dropped, b.Dropped), Queued: b.Queued}
	}
	out := topRates{Seconds: passed.Seconds(), Nodes: now.Nodes, Missing: now.Missing, Events: counts(was.Events, now.Events), Messages: counts(was.Messages, now.Messages),
		Topics: []topicRate{}, Links: []linkRate{}, Endpoints: []endpointRate{}, Routes: []routeRate{}}
	topics, links, endpoints := map[string]api.TopicTraffic{}, map[[2]string]uint64{}, map[string]api.Counts{}
	for _, t := range was.Topics {
		topics[t.Name] = t
		for _, l := range t.Links {
			links[[2]string{t.Name, l.To}] = l.Forwarded
		}
	}
	for _, e := range was.Endpoints {
		endpoints[e.Name] = e.Counts
	}
	for _, t := range now.Topics {
		o := topics[t.Name]
		out.Topics = append(out.Topics, topicRate{Name: t.Name, Published: per(o.Published, t.Published), Arrived: per(o.Arrived, t.Arrived), Failing: t.Failing,
			rates: counts(api.Counts{Offered: o.Offered, Delivered: o.Delivered, Dropped: o.Dropped}, api.Counts{Offered: t.Offered, Delivered: t.Delivered, Dropped: t.Dropped, Queued: t.Queued})})
		for _, l := range t.Links {
			out.Links = append(out.Links, linkRate{From: t.Name, To: l.To, Forwarded: per(links[[2]string{t.Name, l.To}], l.Forwarded)})
		}
	}
	for _, e := range now.Endpoints {
		out.Endpoints = append(out.Endpoints, endpointRate{Name: e.Name, rates: counts(endpoints[e.Name], e.Counts), Dead: e.Dead})
	}
	routes := map[[2]int32]uint64{}
	for _, r := range was.Routes {
		routes[[2]int32{r.MType, r.SubID}] = r.Messages
	}
	for _, r := range now.Routes {
		out.Routes = append(out.Routes, routeRate{MType: r.MType, SubID: r.SubID, Messages: per(routes[[2]int32{r.MType, r.SubID}], r.Messages)})
	}
	out.sort()
	return out
}

// sort puts the busiest first, and among the quiet those that fail.
func (r *topRates) sort() {
	slices.SortStableFunc(r.Topics, func(a, b topicRate) int {
		return cmp.Or(cmp.Compare(b.Published+b.Arrived+b.Offered, a.Published+a.Arrived+a.Offered), cmp.Compare(b.Queued, a.Queued), cmp.Compare(b.Failing, a.Failing))
	})
	slices.SortStableFunc(r.Links, func(a, b linkRate) int { return cmp.Compare(b.Forwarded, a.Forwarded) })
	slices.SortStableFunc(r.Endpoints, func(a, b endpointRate) int {
		return cmp.Or(cmp.Compare(b.Offered, a.Offered), cmp.Compare(b.Queued, a.Queued))
	})
	slices.SortStableFunc(r.Routes, func(a, b routeRate) int { return cmp.Compare(b.Messages, a.Messages) })
}

// cut leaves the first rows of each kind.
func (r *topRates) cut(rows int) {
	r.Topics = r.Topics[:min(rows, len(r.Topics))]
	r.Links = r.Links[:min(rows, len(r.Links))]
	r.Endpoints = r.Endpoints[:min(rows, len(r.Endpoints))]
	r.Routes = r.Routes[:min(rows, len(r.Routes))]
}

// home goes to the first line of a terminal and wipes what is below.
const home = "\x1b[H\x1b[J"

func (s *session) showRates(r topRates, rows int) error {
	r.cut(rows)
	if s.json {
		return s.printLine(r)
	}
	var b bytes.Buffer
	if showsTerminal(s.out) {
		b.WriteString(home)
	}
	r.write(&b)
	_, err := s.out.Write(append(b.Bytes(), '\n')) // at once, so that nothing flickers
	return err
}

func (r *topRates) write(to io.Writer) {
	missing := ""
	if len(r.Missing) > 0 {
		missing = "; no answer from " + strings.Join(r.Missing, ", ")
	}
	fmt.Fprintf(to, "%s  nodes %s%s\n\n", time.Now().Format(time.TimeOnly), strings.Join(r.Nodes, ", "), missing)
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PER SECOND\tOFFERED\tDELIVERED\tDROPPED\tQUEUED\t")
	fmt.Fprintf(w, "events\t%s\n", r.Events.cells())
	fmt.Fprintf(w, "messages\t%s\n", r.Messages.cells())
	_ = w.Flush() // it is memory
	table(to, "\nPUBLISHED\tARRIVED\tOFFERED\tDELIVERED\tDROPPED\tQUEUED\tFAILING\t  TOPIC", r.Topics, func(t topicRate) string {
		return fmt.Sprintf("%.1f\t%.1f\t%s%d\t  %s", t.Published, t.Arrived, t.cells(), t.Failing, script.QuoteTopic(t.Name))
	})
	table(to, "\nFORWARDED\t  LINK", r.Links, func(l linkRate) string {
		return fmt.Sprintf("%.1f\t  %s to %s", l.Forwarded, script.QuoteTopic(l.From), l.To)
	})
	table(to, "\nOFFERED\tDELIVERED\tDROPPED\tQUEUED\t  ENDPOINT", r.Endpoints, func(e endpointRate) string {
		dead := ""
		if e.Dead {
			dead = ", passed over as dead"
		}
		return fmt.Sprintf("%s  %s%s", e.cells(), e.Name, dead)
	})
	table(to, "\nMESSAGES\t  ROUTE", r.Routes, func(r routeRate) string {
		if r.SubID == -1 {
			return fmt.Sprintf("%.1f\t  type %d", r.Messages, r.MType)
		}
		return fmt.Sprintf("%.1f\t  type %d, sub id %d", r.Messages, r.MType, r.SubID)
	})
}

func (r rates) cells() string {
	return fmt.Sprintf("%.1f\t%.1f\t%.1f\t%d\t", r.Offered, r.Delivered, r.Dropped, r.Queued)
}

// table writes rows under a head, nothing where there are none.
func table[E any](to io.Writer, head string, all []E, row func(E) string) {
	if len(all) == 0 {
		return
	}
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, head)
	for _, e := range all {
		fmt.Fprintln(w, row(e))
	}
	_ = w.Flush() // it is memory
}
