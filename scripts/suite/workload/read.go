package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/http/api"
)

// reader reads over HTTP on one connection at a time, and knows which: what it
// is told on one is a session.
type reader struct {
	node    Node
	http    *http.Client
	session atomic.Uint64
}

func newReader(n Node) *reader {
	r := &reader{node: n}
	dialer := &net.Dialer{}
	transport := &http.Transport{MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		r.session.Add(1)
		return dialer.DialContext(ctx, network, address)
	}}
	r.http = &http.Client{Transport: transport, Timeout: Patience}
	return r
}

func (r *reader) close() { r.http.CloseIdleConnections() }

// answer is what a node said, and how it described its copy.
type answer struct {
	body            []byte
	index, version  uint64
	described       bool // it said which node it is and how old its copy is
	begun, finished uint64
}

func (r *reader) get(path string) (answer, error) {
	a := answer{begun: r.session.Load()}
	response, err := r.http.Get("http://" + r.node.HTTP + path)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.finished = r.session.Load()
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, 16<<20)); err != nil {
		return a, err
	}
	if response.StatusCode != http.StatusOK {
		var e api.ErrorBody
		if json.Unmarshal(a.body, &e) == nil && e.Error != nil {
			return a, e.Error
		}
		return a, errors.New(response.Status)
	}
	a.index, _ = strconv.ParseUint(response.Header.Get("Floe-Index"), 10, 64) // 0 is told apart by the checker
	a.version, _ = strconv.ParseUint(response.Header.Get("Floe-Routes-Version"), 10, 64)
	a.described = response.Header.Get("Floe-Age") != "" && response.Header.Get("Floe-Node") == r.node.Name
	return a, nil
}

// routes reads table and map; stale: from the node's own copy.
func (r *reader) routes(log *history.Log, process string, sinks check.Sinks, stale bool) (*history.Value, bool) {
	function, path := "routes", "/v1/routes"
	if stale {
		function, path = "stale", "/v1/routes?stale=1"
	}
	p := log.Invoke(process, r.node.Name, function, "routes", nil)
	a, err := r.get(path)
	if err == nil && stale && !a.described {
		err = fmt.Errorf("the answer does not say from which copy it is")
	}
	if err != nil {
		p.Fail(err.Error())
		return nil, false
	}
	lines, owners := check.TableLines(string(a.body))
	v := &history.Value{Index: a.index, Version: a.version, Text: check.Sum(lines, owners), Session: r.sessionOf(a)}
	v.Table, v.Mixed = sinks.ReadTable(lines)
	p.OK(v)
	return v, true
}

// topics reads the topics of the node's own copy.
func (r *reader) topics(log *history.Log, process string) {
	p := log.Invoke(process, r.node.Name, "stale", "topics", nil)
	a, err := r.get("/v1/topics?stale=1")
	var all []api.Topic
	if err == nil {
		err = json.Unmarshal(a.body, &all)
	}
	if err != nil {
		p.Fail(err.Error())
		return
	}
	p.OK(&history.Value{Index: a.index, Text: check.SumTopics(topicIDs(all)), Session: r.sessionOf(a)})
}

// sessionOf is the connection an answer came on, 0 where it is in doubt.
func (r *reader) sessionOf(a answer) uint64 {
	if a.begun == a.finished || a.begun+1 == a.finished { // the latter opened it
		return a.finished
	}
	return 0
}

// StaleReader reads every node's own copy, all the time.
type StaleReader struct {
	Log   *history.Log
	Nodes []Node
	Sinks check.Sinks
}

// stalePace is how often each node's own copy is read.
const stalePace = 200 * time.Millisecond

// Run reads until ctx ends.
func (s *StaleReader) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, n := range s.Nodes {
		all.Go(func() { s.follow(ctx, n) })
	}
}

// follow reads topics and routes in turn until ctx ends.
func (s *StaleReader) follow(ctx context.Context, n Node) {
	r, count := newReader(n), 0
	defer r.close()
	process := "stale-" + n.Name
	pace(ctx, stalePace, func() {
		if count++; count%2 == 0 {
			r.topics(s.Log, process)
			return
		}
		r.routes(s.Log, process, s.Sinks, true)
	})
}

// host is the address of a node without a port.
func (n Node) host() string {
	host, _, _ := strings.Cut(n.HTTP, ":")
	return host
}
