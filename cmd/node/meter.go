package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// meterPause is how often a meter is drawn, and after how long first.
	meterPause = 500 * time.Millisecond
	// meterWidth is how wide its bar is, in characters.
	meterWidth = 30
)

// meter shows on a terminal how far a long command is. A nil one shows
// nothing. It is safe for concurrent use.
type meter struct {
	terminal io.Writer
	begun    time.Time
	ended    chan struct{}
	stopped  sync.WaitGroup

	mu sync.Mutex
	// sent of total bytes went to the node, got came from it.
	sent, total, got int64
	drawn            bool
}

// startMeter starts one where stderr is a terminal.
func (s *session) startMeter() {
	if !showsTerminal(s.err) {
		return
	}
	m := &meter{terminal: s.err, begun: time.Now(), ended: make(chan struct{})}
	m.stopped.Go(func() { m.run(meterPause) })
	s.meter = m
}

// run draws it anew again and again, until it is stopped.
func (m *meter) run(pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.draw()
		case <-m.ended:
			return
		}
	}
}

// stop wipes it. What is printed next stands on a line of its own.
func (m *meter) stop() {
	if m == nil {
		return
	}
	m.mu.Lock()
	select {
	case <-m.ended:
	default:
		close(m.ended)
	}
	m.mu.Unlock()
	m.stopped.Wait()
	if m.drawn {
		m.drawn = false
		fmt.Fprint(m.terminal, "\r\x1b[K")
	}
}

func (m *meter) draw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drawn = true
	fmt.Fprintf(m.terminal, "\r\x1b[K%s\r", meterText(m.sent, m.total, m.got, time.Since(m.begun)))
}

// meterText is what a meter shows: a bar while bytes go out, how many came
// where it is not known how many will, and for how long there is nothing but
// to wait.
func meterText(sent, total, got int64, since time.Duration) string {
	waited := since.Round(time.Second).String()
	switch {
	case got > 0:
		return fmt.Sprintf("%s came, %s", sizeText(got), waited)
	case total > 0 && sent < total:
		full := int(sent * meterWidth / total)
		return fmt.Sprintf("[%s%s] %d %%, %s of %s", strings.Repeat("#", full), strings.Repeat(".", meterWidth-full), sent*100/total, sizeText(sent), sizeText(total))
	case total > 0:
		return fmt.Sprintf("%s sent; the cluster takes it over, %s", sizeText(total), waited)
	}
	return "waiting for the node, " + waited
}

// sending counts what goes out of a body of so many bytes. It is called anew
// for each node that is tried.
func (m *meter) sending(body io.Reader, size int64) io.Reader {
	m.mu.Lock()
	m.sent, m.total = 0, size
	m.mu.Unlock()
	return io.TeeReader(body, counted(func(n int) {
		m.mu.Lock()
		m.sent += int64(n)
		m.mu.Unlock()
	}))
}

// writer counts what comes.
func (m *meter) writer(to io.Writer) io.Writer {
	if m == nil {
		return to
	}
	return io.MultiWriter(to, counted(func(n int) {
		m.mu.Lock()
		m.got += int64(n)
		m.mu.Unlock()
	}))
}

// counted is a writer that only counts.
type counted func(n int)

// Write counts.
func (c counted) Write(b []byte) (int, error) {
	c(len(b))
	return len(b), nil
}
