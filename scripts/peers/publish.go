package peers

import (
	"testing"
	"time"
)

// Publisher is a running publisher.
type Publisher struct{ *Process }

// Published is what a publisher reached.
type Published struct {
	// Count of events tried; Acked are those answered (twoway) or written (other modes).
	Count, Acked, Errors int
	// Took is the time from the first event to the last.
	Took time.Duration
}

// StartPublisher starts a publisher and waits until it has found its topic. The arguments are those of icepeer publish,
// or of the publisher in that language: "--count", "3", "--cost", "0,1,2".
func StartPublisher(t testing.TB, s Service, l Language, topic string, args ...string) *Publisher {
	t.Helper()
	path, all := command(t, l, "publish", s)
	all = append(all, "--topic", topic)
	if l == CPP {
		all = append(all, "--until-eof")
	}
	p := &Publisher{start(t, path, append(all, args...)...)}
	p.WaitLine("ready")
	return p
}

// Result waits for the publisher's end and returns what it reached.
func (p *Publisher) Result() Published {
	p.t.Helper()
	f := fields("published " + p.WaitLine("published"))
	p.Wait()
	return Published{
		Count: int(f["published"]), Acked: int(f["acked"]), Errors: int(f["errors"]),
		Took: time.Duration(f["seconds"] * float64(time.Second)),
	}
}

// Publish runs a publisher to its end; an error fails the test.
func Publish(t testing.TB, s Service, l Language, topic string, args ...string) Published {
	t.Helper()
	p := StartPublisher(t, s, l, topic, args...)
	got := p.Result()
	if got.Errors > 0 || p.Wait() != 0 {
		t.Fatalf("publish on %q: %+v; it said:\n%s", topic, got, p.said())
	}
	return got
}
