package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// warmUp is how many messages open the connections and say how fast it goes.
const warmUp = 5000

// direct is the same load between unmodified applications, one of which sends straight to the others.
func (w forward) direct(ctx context.Context, b *bench) (s sample, err error) {
	dir, err := os.MkdirTemp(b.temp, "apps")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var all peers
	defer func() { err = errors.Join(err, audience(all).close()) }()
	none := filepath.Join(dir, "none")
	if err := os.WriteFile(none, []byte("newrt|start\nnewrt|end\n"), 0o666); err != nil {
		return nil, err
	}
	var names []string
	for range w.to {
		port, err := all.start(ctx, b.peer, none)
		if err != nil {
			return nil, err
		}
		names = append(names, "127.0.0.1"+port)
	}
	receivers := all
	table := filepath.Join(dir, "table")
	if err := os.WriteFile(table, []byte(w.table(names)), 0o666); err != nil {
		return nil, err
	}
	if _, err := all.start(ctx, b.peer, table); err != nil {
		return nil, err
	}
	return w.drive(ctx, all[w.to], receivers)
}

// drive has one application send, at first a few messages, then for about the time given.
func (w forward) drive(ctx context.Context, sender *child, receivers peers) (sample, error) {
	meid := "-"
	if w.byMEID {
		meid = meidOf(37)
	}
	var ok float64
	send := func(n int) (time.Duration, error) {
		start := time.Now()
		if _, err := fmt.Fprintf(sender.stdin, "sendn %d %d -1 %s @%d\n", n, mtype, meid, w.size); err != nil {
			return 0, err
		}
		line, err := sender.line(ctx, "sent")
		ok = fields(strings.ReplaceAll(line, "=", " "))["ok"]
		return time.Since(start), err
	}
	// It says that it is ready before it has read all MEIDs.
	for end := time.Now().Add(patience); ok == 0; {
		if _, err := send(1); err != nil {
			return nil, err
		}
		if time.Now().After(end) {
			return nil, sender.failed("can't send")
		}
	}
	took, err := send(warmUp)
	if err != nil {
		return nil, err
	}
	before, _, err := receivers.counted(ctx)
	if err != nil {
		return nil, err
	}
	n := int(max(warmUp, warmUp*w.seconds/took.Seconds()))
	start := time.Now()
	if _, err := send(n); err != nil {
		return nil, err
	}
	after, last, err := receivers.counted(ctx)
	return arrivals(int64(n), after-before, last.Sub(start)), err
}

// peers are unmodified applications.
type peers []*child

// start adds one that has the table in the file, and returns its port.
func (p *peers) start(ctx context.Context, dir, table string) (string, error) {
	ports, err := freePorts(2)
	if err != nil {
		return "", err
	}
	c, err := startChild("/usr/bin/env", "RMR_SEED_RT="+table, "RMR_RTG_SVC=127.0.0.1:9", "RMR_CTL_PORT="+ports[1][1:],
		"RMR_BIND_IF=127.0.0.1", "RMR_SRC_ID=127.0.0.1", "RMR_LOG_VLEVEL=0", filepath.Join(dir, "app"), ports[0][1:])
	if err != nil {
		return "", err
	}
	*p = append(*p, c)
	if _, err := fmt.Fprintln(c.stdin, "quiet 1"); err != nil {
		return "", err
	}
	_, err = c.line(ctx, "ready")
	return ports[0], err
}

// counted returns how many messages arrived, once no more do, and since when that is so.
func (p peers) counted(ctx context.Context) (int64, time.Time, error) {
	got, since := int64(-1), time.Now()
	for time.Since(since) < quietArrival {
		now := int64(0)
		for _, c := range p {
			fmt.Fprintln(c.stdin, "count")
			line, err := c.line(ctx, "count")
			if err != nil {
				return 0, since, err
			}
			now += int64(fields(strings.ReplaceAll(line, "=", " "))["received"])
		}
		if now != got {
			got, since = now, time.Now()
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return 0, since, err
		}
	}
	return got, since, nil
}
