package peers

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Event is one line `event ...` of a subscriber.
type Event struct {
	Topic, Op string
	// Mode is normal, nonmutating or idempotent.
	Mode string
	// Cost is the context's entry `cost` as it stands, "-" where there is none.
	Cost    string
	Context map[string]string
	// Ours says that icepeer published it: then Publisher, Seq and Latency hold and Text is empty.
	Ours           bool
	Publisher, Seq int
	Latency        time.Duration
	// Bytes is the length of the body or text.
	Bytes int
	// Text is the body of somebody else's event, up to 512 bytes.
	Text string
}

// parseEvent reads `event TOPIC OP MODE COST CONTEXT PUB SEQ LATENCY_NS BYTES TEXT`, as receiver.cpp and
// subscriber.py print it.
func parseEvent(line string) (Event, error) {
	f := strings.Split(line, " ")
	if len(f) != 11 || f[0] != "event" {
		return Event{}, fmt.Errorf("not an event line: %q", line)
	}
	p := eventParser{line: line}
	e := Event{
		Topic: p.word(f[1]), Op: p.word(f[2]), Mode: f[3], Cost: "-", Context: p.context(f[5]),
		Bytes: p.number(f[9]), Ours: f[6] != "-",
	}
	if f[4] != "-" {
		e.Cost = p.word(f[4])
	}
	if e.Ours {
		e.Publisher, e.Seq, e.Latency = p.number(f[6]), p.number(f[7]), time.Duration(p.number(f[8]))
	} else {
		e.Text = p.word(f[10])
	}
	return e, p.err
}

// eventParser keeps the first mistake in a line.
type eventParser struct {
	line string
	err  error
}

func (p *eventParser) fail(what, text string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s %q in event line %q", what, text, p.line)
	}
}

// word undoes word() of lines.cpp.
func (p *eventParser) word(text string) string {
	if text == "%" {
		return ""
	}
	return p.unescape(text)
}

func (p *eventParser) unescape(text string) string {
	out, err := url.PathUnescape(text)
	if err != nil {
		p.fail("bad escape", text)
	}
	return out
}

func (p *eventParser) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		p.fail("no number", text)
	}
	return n
}

func (p *eventParser) context(text string) map[string]string {
	out := map[string]string{}
	if text == "-" {
		return out
	}
	for pair := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			p.fail("bad context", text)
		}
		out[p.unescape(k)] = p.unescape(v)
	}
	return out
}
