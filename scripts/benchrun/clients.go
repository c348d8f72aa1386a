package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// icepeer is the C++ program that plays every client.
var icepeer = filepath.Join("scripts", "peers", "out", "icepeer")

// admin runs an icepeer admin verb and returns its first line that begins with the word.
func admin(ctx context.Context, s *server, word string, limit time.Duration, args ...string) (string, error) {
	c, err := startChild(icepeer, append([]string{"admin", "--manager", s.manager, "--timeout", "60000"}, args...)...)
	if err != nil {
		return "", err
	}
	defer c.stop()
	if err := c.result(ctx, limit); err != nil {
		return "", err
	}
	return c.line(ctx, word)
}

// topicProxy asks for the proxy that a link from another service needs.
func topicProxy(ctx context.Context, s *server, topic string) (string, error) {
	line, err := admin(ctx, s, "topic", patience, "proxies", topic)
	return strings.TrimPrefix(line, "topic "), err
}

// audience is the subscribers of a run, each a process of its own.
type audience []*child

func subscribe(ctx context.Context, s *server, topic, mode string, n int) (audience, error) {
	var all audience
	for range n {
		c, err := startChild(icepeer, "subscribe", "--manager", s.manager, "--topic", topic, "--mode", mode,
			"--print", "summary", "--until-eof")
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, c)
	}
	for _, c := range all {
		if _, err := c.line(ctx, "ready"); err != nil {
			return nil, errors.Join(err, all.close())
		}
	}
	return all, nil
}

// summaries ends the subscribers and returns what each counted.
func (a audience) summaries(ctx context.Context) ([]received, error) {
	for _, c := range a {
		c.terminate()
	}
	var out []received
	for _, c := range a {
		line, err := c.line(ctx, "summary")
		if err != nil {
			return nil, err
		}
		r, err := parseSummary(line)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (a audience) close() error {
	var errs []error
	for _, c := range a {
		errs = append(errs, c.stop())
	}
	return errors.Join(errs...)
}

func (a audience) pids() []int {
	var pids []int
	for _, c := range a {
		pids = append(pids, c.cmd.Process.Pid)
	}
	return pids
}

// sent is what the publishers of a run did.
type sent struct{ events, seconds float64 }

// publish runs a publisher to its end.
func publish(ctx context.Context, s *server, topic string, l load) (sent, error) {
	c, err := startChild(icepeer, "publish", "--manager", s.manager, "--topic", topic, "--mode", l.publisherMode(),
		"--size", fmt.Sprint(l.size), "--rate", fmt.Sprint(l.rate), "--threads", fmt.Sprint(l.publishers),
		"--seconds", fmt.Sprint(l.seconds), "--timeout", "60000", "--until-eof")
	if err != nil {
		return sent{}, err
	}
	defer c.stop()
	if err := c.result(ctx, publishing(l.seconds)+patience); err != nil {
		return sent{}, err
	}
	line, err := c.line(ctx, "published")
	f := fields(line)
	return sent{events: f["acked"], seconds: f["seconds"]}, err
}
