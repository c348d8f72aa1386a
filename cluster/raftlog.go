package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// sameLine is how long a line of Raft's keeps its like out of the log.
const sameLine = 30 * time.Second

// raftLog is the log that Raft gets. Raft calls it an error whenever a
// follower does not answer, several times a second while one is down: floe
// copes with that, so errors are warnings, and a line that was there already
// in the last half minute is counted and left out; so is that it stands for
// election once more, which a node without a majority does for ever. That a connection of ours
// was closed under Raft is how a half stops, and that a replayed entry was
// applied already is how it starts: no news at all.
type raftLog struct {
	hclog.Logger
	mu   sync.Mutex
	seen map[string]*line
}

type line struct {
	at      time.Time
	leftOut int
}

func newRaftLog(log hclog.Logger) *raftLog {
	return &raftLog{Logger: log, seen: map[string]*line{}}
}

// Warn logs a line unless it was there lately.
func (l *raftLog) Warn(message string, args ...any) {
	if message == "skipping application of old log" || closedHere(args) {
		l.Logger.Debug(message, args...)
		return
	}
	leftOut, again := l.again(message + peerOf(args))
	switch {
	case again:
		return
	case leftOut > 0:
		args = append(args[:len(args):len(args)], "repeated", leftOut)
	}
	l.Logger.Warn(message, args...)
}

// Info logs a line, but not each of the elections of a node that can't win one.
func (l *raftLog) Info(message string, args ...any) {
	switch message {
	case "entering candidate state", "pre-vote campaign failed, waiting for election timeout":
		leftOut, again := l.again(message)
		if again {
			return
		}
		if leftOut > 0 {
			args = append(args[:len(args):len(args)], "repeated", leftOut)
		}
	case "entering follower state", "entering leader state": // the next election is another one
		l.mu.Lock()
		delete(l.seen, "entering candidate state")
		l.mu.Unlock()
	}
	l.Logger.Info(message, args...)
}

// Error is Warn.
func (l *raftLog) Error(message string, args ...any) { l.Warn(message, args...) }

func (l *raftLog) again(key string) (leftOut int, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) > 256 {
		clear(l.seen)
	}
	now := time.Now()
	before := l.seen[key]
	if before != nil && now.Sub(before.at) < sameLine {
		before.leftOut++
		return 0, true
	}
	if before != nil {
		leftOut = before.leftOut
	}
	l.seen[key] = &line{at: now}
	return leftOut, false
}

// closedHere tells whether a line is about a connection or listener that this
// process closed itself. Raft wraps errors as text, too.
func closedHere(args []any) bool {
	for _, a := range args {
		err, ok := a.(error)
		if ok && (errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), net.ErrClosed.Error())) {
			return true
		}
	}
	return false
}

// peerOf returns whom a line is about.
func peerOf(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "peer", "server-id", "id":
			return fmt.Sprint(args[i+1])
		}
	}
	return ""
}
