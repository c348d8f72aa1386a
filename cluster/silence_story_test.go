package cluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"floe/cluster"
	"floe/cluster/clustertest"
)

// logText is a log that may be read while it grows.
type logText struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// holds returns an error that names a text which is not there.
func (l *logText) holds(texts ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		if !strings.Contains(l.all.String(), text) {
			return fmt.Errorf("the log has no %q", text)
		}
	}
	return nil
}

// A node that is left alone says in its problems and in its log who is
// missing and why, that nothing can be changed, and what to do; and that the
// others are back.
func TestLeftAloneInWords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &logText{}
		c := clustertest.New(t, 3, func(cfg *cluster.Config) {
			if cfg.ID == "n1" {
				cfg.Log = hclog.New(&hclog.LoggerOptions{Output: log})
			}
		})
		one, others := c.Nodes[0], c.Nodes[1:]
		clustertest.Kill(others...)
		missing := fmt.Sprintf("node %s can't be reached at %s: ", others[0].Name, others[0].Address)
		nobody := []string{
			"no leader: 1 of 3 voters reachable, 2 needed", "start 1 more, or see floe recover",
			"until there is one nothing can be changed, while events and messages go on",
		}
		c.Wait("words for it", func() error {
			text := strings.Join(one.Status(t.Context()).Problems, "\n")
			for _, want := range append(nobody, missing) {
				if !strings.Contains(text, want) {
					return errors.New(text)
				}
			}
			return log.holds(append(nobody, "node can't be reached: node="+others[0].Name, "node can't be reached: node="+others[1].Name)...)
		})
		for _, n := range others {
			n.Start()
		}
		c.WaitReady()
		if p := one.Problems(); len(p) > 0 {
			t.Errorf("with a leader again: %q", p)
		}
		c.Wait("a line that they are back", func() error {
			return log.holds("node answers again: node="+others[0].Name, "node answers again: node="+others[1].Name)
		})
	})
}
