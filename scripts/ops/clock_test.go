package ops

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/lab"
)

// C-clock: a node's wall clock is set back, then forth. Its streams of events to other nodes live on, though they are
// silent but for what keeps them alive. Where clocks can't be set there is nothing to see.
func TestClockIsSet(t *testing.T) {
	l, err := lab.Create(lab.Config{Nodes: 2, Binary: floetest.Binary(), Clocks: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	})
	if !l.Clocks {
		return
	}
	for _, n := range l.Nodes {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	subscribed, moved := l.Nodes[0], l.Nodes[1]
	lists(t, l, subscribed, "members --json", `"voter": true`, 2)
	here := newHost(t, moved)
	here.post(t, "/v1/topics", map[string]string{"name": "A"})
	events := listen(t, newHost(t, subscribed), "A")
	awaitEvent(t, here, events)
	for _, offset := range []time.Duration{-time.Hour, -2 * time.Hour} {
		if err := moved.SetClock(offset); err != nil {
			t.Fatal(err)
		}
		time.Sleep(giveUp) // nothing happens here, which has to be seen
	}
	if err := moved.SetClock(time.Hour); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, here, events)
	log, err := os.ReadFile(subscribed.Log())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "event stream from another node lost") {
		t.Errorf("a stream was lost:\n%s", log)
	}
}

// giveUp is longer than a node waits for a silent stream: 4 s.
const giveUp = 6 * time.Second

// listen subscribes natively and returns the lines that come.
func listen(t *testing.T, h *host, topic string) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.base+"/v1/events?topic="+topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("subscribe: %s", answer.Status)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// tick is "hello" in base64, as events carry it.
const tick = "aGVsbG8="

// awaitEvent publishes until an event arrives: a stream takes a moment to open.
func awaitEvent(t *testing.T, h *host, events <-chan string) {
	t.Helper()
	floetest.Eventually(t, floetest.Patience, func() error {
		if err := h.send("/v1/events", map[string]string{"topic": "A", "data": tick}); err != nil {
			return err
		}
		select {
		case line := <-events:
			if strings.Contains(line, tick) {
				return nil
			}
			return fmt.Errorf("got %q", line)
		case <-time.After(200 * time.Millisecond):
			return errors.New("no event")
		}
	})
}
