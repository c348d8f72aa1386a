package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"floe/scripts/suite/history"
	"floe/transport/http/api"
)

// OwnWriter makes and removes topics of its own, and looks at each change in the
// copies of other nodes: a stale read that passes the index of the change shows it.
type OwnWriter struct {
	Log   *history.Log
	Nodes []Node
	Seed  uint64
}

// Run works until ctx ends and every operation under way is over.
func (w *OwnWriter) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i, n := range w.Nodes {
		c := &ownClient{log: w.Log, nodes: w.Nodes, node: n, process: "own-" + n.Name, random: stream(w.Seed, 8000+i), http: &http.Client{Timeout: Patience, Transport: &http.Transport{}}}
		all.Go(func() {
			pace(ctx, witnessPace, c.step)
			c.http.CloseIdleConnections()
		})
	}
}

// ownClient is one client that makes changes through one node and reads at any.
type ownClient struct {
	log     *history.Log
	nodes   []Node
	node    Node
	process string
	random  *rand.Rand
	http    *http.Client
	count   int
}

// step makes a topic, removes it, and looks after each.
func (c *ownClient) step() {
	c.count++
	name := fmt.Sprintf("%s-%d", c.process, c.count)
	var made api.Topic
	index, err := c.change(http.MethodPost, "", "create", name, fmt.Sprintf(`{"name":%q}`, name), &made)
	if err != nil {
		return
	}
	c.look(name, index)
	if index, err = c.change(http.MethodDelete, "?name="+url.QueryEscape(name), "destroy", name, "", nil); err == nil {
		c.look(name, index)
	}
}

// change makes a change and returns the index that it was answered with.
func (c *ownClient) change(method, query, function, name, body string, made *api.Topic) (uint64, error) {
	p := c.log.Invoke(c.process, c.node.Name, function, name, nil)
	answer, index, err := c.do(c.node, method, query, body, 0)
	v := &history.Value{Index: index}
	if err == nil && made != nil {
		err = json.Unmarshal(answer, made)
		v.ID = made.ID
	}
	if !end(p, function, v, err) {
		return 0, errors.Join(err, errNotMade)
	}
	return index, nil
}

// errNotMade says that a change was refused, or that nobody knows of it.
var errNotMade = errors.New("not made")

// look reads a topic in the copy of a random node, at an index or beyond.
func (c *ownClient) look(name string, index uint64) {
	n := c.nodes[c.random.IntN(len(c.nodes))]
	p := c.log.Invoke(c.process, n.Name, "after", name, &history.Value{Index: index})
	body, at, err := c.do(n, http.MethodGet, "?stale=1&name="+url.QueryEscape(name), "", index)
	var t api.Topic
	switch {
	case kindOf(err) == api.NoSuchTopic:
		p.OK(&history.Value{Absent: true, Index: at})
	case err != nil:
		p.Fail(err.Error())
	case json.Unmarshal(body, &t) != nil:
		p.Fail("the answer is no topic")
	default:
		p.OK(&history.Value{ID: t.ID, Index: at})
	}
}

// do makes a call about topics, with the index where it is not 0, and returns what
// the answer holds and the index it names.
func (c *ownClient) do(n Node, method, query, body string, index uint64) ([]byte, uint64, error) {
	request, err := http.NewRequest(method, "http://"+n.HTTP+"/v1/topics"+query, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if index > 0 {
		request.Header.Set("Floe-Index", strconv.FormatUint(index, 10))
	}
	request.Header.Set("Floe-Timeout", strconv.FormatInt(Patience.Milliseconds(), 10))
	request.GetBody = nil // never sent twice by net/http
	answer, err := c.http.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, 0, &api.Error{Kind: api.Unreachable, Message: err.Error()}
	}
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return nil, 0, err
	}
	at, _ := strconv.ParseUint(answer.Header.Get("Floe-Index"), 10, 64) // 0 is told apart by the checker
	if answer.StatusCode == http.StatusOK {
		return b, at, nil
	}
	var e api.ErrorBody
	if json.Unmarshal(b, &e) == nil && e.Error != nil {
		return nil, at, e.Error
	}
	return nil, at, errors.New(answer.Status)
}
