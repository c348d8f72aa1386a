package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"floe/transport/http/api"
)

const (
	// DefaultTimeout bounds a call.
	DefaultTimeout = 5 * time.Second
	// answerLimit is the largest answer taken, lineLimit the longest line of a
	// stream, in bytes.
	answerLimit = 256 << 20
	lineLimit   = 64 << 20
)

// Config says whom a [Client] talks to.
type Config struct {
	// Addresses are host:port of the HTTP listeners of some nodes, or
	// http://host:port or https://host:port.
	Addresses []string
	// TLS is how https is spoken, which then is meant where an address does
	// not say. nil: http is meant, and https trusts what the system trusts.
	TLS *tls.Config
	// Token is shown with each call; "": none.
	Token string
	// Timeout bounds each call; 0 is DefaultTimeout.
	Timeout time.Duration
	// Stale has reads answered from the asked node's own copy.
	Stale bool
	// OnStale is told, once for each such answer, how good the copy is; may be nil.
	OnStale func(Copy)
	// Sending, if not nil, is given each text or file that goes to a node,
	// with its size in bytes, and returns what is sent in its place: it may
	// look on.
	Sending func(body io.Reader, size int64) io.Reader
}

// Copy describes the copy a stale read was answered from.
type Copy struct {
	Node  string
	Index uint64
	// Age is how long ago that node heard the leader; negative: never.
	Age time.Duration
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	config                 Config
	http                   *http.Client
	answerLimit, lineLimit int
}

// New returns a client; Close lets go of its connections.
func New(config Config) *Client {
	if config.Timeout <= 0 {
		config.Timeout = DefaultTimeout
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{}).DialContext,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     30 * time.Second,
		TLSClientConfig:     config.TLS,
	}
	return &Client{config: config, http: &http.Client{Transport: transport}, answerLimit: answerLimit, lineLimit: lineLimit}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	body         any // nil: none; a string or an upload goes as it is, all else as JSON
	change       bool
}

// call tries the addresses in turn and decodes the answer into out.
func (c *Client) call(ctx context.Context, r request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	var failed []error
	for i, address := range c.config.Addresses {
		err := c.try(ctx, address, r, len(c.config.Addresses)-i, out)
		if err == nil {
			return nil
		}
		failed = append(failed, err)
		if !elsewhere(err) || ctx.Err() != nil {
			break
		}
	}
	return worst(failed)
}

// try puts the call to one node, of which so many are left to be tried.
func (c *Client) try(ctx context.Context, address string, r request, left int, out any) error {
	share, cancel := context.WithTimeout(ctx, c.share(ctx, left))
	defer cancel()
	if !r.change {
		return c.send(share, address, r, out)
	}
	if err := c.send(share, address, request{method: http.MethodGet, path: "/healthz"}, nil); err != nil {
		return err
	}
	return c.send(ctx, address, r, out)
}

// share is the part of the time left that one of several nodes gets.
func (c *Client) share(ctx context.Context, left int) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline)/time.Duration(left), time.Millisecond)
}

func (c *Client) send(ctx context.Context, address string, r request, out any) error {
	response, err := c.start(ctx, address, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(c.answerLimit)+1))
	if err != nil {
		return broken(address, r, err)
	}
	if len(body) > c.answerLimit {
		return &api.Error{Kind: api.TooLarge, Message: fmt.Sprintf("%s: the answer is over the limit of %d bytes", address, c.answerLimit)}
	}
	if out == nil {
		return nil
	}
	if text, ok := out.(*[]byte); ok {
		*text = body
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &api.Error{Kind: api.Internal, Message: fmt.Sprintf("%s: the answer is not what this program knows: %v", address, err)}
	}
	return nil
}

// start sends a request and returns the answer if it is a good one.
func (c *Client) start(ctx context.Context, address string, r request) (*http.Response, error) {
	req, err := c.build(ctx, address, r)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(req)
	if !r.change && req.URL.Scheme == "https" && errors.Is(err, io.EOF) {
		return nil, unreached(address, noTLS)
	}
	if err != nil {
		return nil, broken(address, r, err)
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close()
		return nil, refusal(address, response)
	}
	c.reportStale(response.Header)
	return response, nil
}

func (c *Client) build(ctx context.Context, address string, r request) (*http.Request, error) {
	query := r.query
	if c.config.Stale && !r.change && r.path != "/healthz" {
		query = url.Values{"stale": {"1"}}
		for k, v := range r.query {
			query[k] = v
		}
	}
	scheme, host := SplitAddress(address)
	if scheme == "" && c.config.TLS != nil {
		scheme = "https"
	}
	u := url.URL{Scheme: cmp.Or(scheme, "http"), Host: host, Path: r.path, RawQuery: query.Encode()}
	body, kind, err := encode(r.body)
	if err != nil {
		return nil, err
	}
	size := sizeOf(r.body)
	if size > 0 && c.config.Sending != nil {
		body = c.config.Sending(body, size)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if size > 0 {
		req.ContentLength = size
	}
	if c.config.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
		req.GetBody = nil // never sent twice by net/http
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.Header.Set("Floe-Timeout", strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10))
	}
	return req, nil
}

// SplitAddress takes an address apart; scheme is http, https, or "" where it
// does not say.
func SplitAddress(address string) (scheme, host string) {
	if before, after, found := strings.Cut(address, "://"); found {
		return before, after
	}
	return "", address
}

// sizeOf is how many bytes a text or file has; 0 for other bodies.
func sizeOf(body any) int64 {
	switch b := body.(type) {
	case string:
		return int64(len(b))
	case upload:
		return b.size
	}
	return 0
}

// encode returns a request's body and what kind it is; nil for none.
func encode(body any) (io.Reader, string, error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case string:
		return strings.NewReader(b), "text/plain", nil
	case upload:
		return b.open(), "application/octet-stream", nil
	}
	b, err := json.Marshal(body)
	return bytes.NewReader(b), "application/json", err
}

// reportStale tells how good the copy is that a stale read came from.
func (c *Client) reportStale(h http.Header) {
	if c.config.OnStale == nil || h.Get("Floe-Node") == "" {
		return
	}
	index, _ := strconv.ParseUint(h.Get("Floe-Index"), 10, 64) // 0 where it is no number
	age, _ := strconv.ParseFloat(h.Get("Floe-Age"), 64)
	c.config.OnStale(Copy{Node: h.Get("Floe-Node"), Index: index, Age: time.Duration(age * float64(time.Second))})
}

// refusal reads an error answer.
func refusal(address string, response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // what came is enough
	var e api.ErrorBody
	if json.Unmarshal(body, &e) == nil && e.Error != nil && e.Error.Kind != "" {
		return e.Error
	}
	text := strings.TrimSpace(string(body[:min(len(body), 200)]))
	if strings.Contains(text, "HTTP request to an HTTPS server") {
		return unreached(address, "it speaks TLS; give --tls-ca with the authority of its cluster")
	}
	return &api.Error{Kind: api.Internal, Message: fmt.Sprintf("%s answered %s: %s", address, response.Status, text)}
}

// noTLS is what there is to say about a listener that does not answer TLS.
const noTLS = "it speaks no TLS, it seems; to ask in the clear, put http:// before the address"

// broken says what a failed exchange means: unreachable, or for a change
// that may have arrived, an unknown outcome.
func broken(address string, r request, err error) error {
	var op *net.OpError
	dialling := errors.As(err, &op) && op.Op == "dial"
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	if errors.Is(err, context.Canceled) {
		return &api.Error{Kind: api.Cancelled, Message: "given up"}
	}
	text := err.Error()
	if strings.Contains(text, "malformed HTTP response") {
		text = "what answers there speaks no HTTP; is it the HTTP port of a node (7480 unless --http says otherwise)?"
	}
	if strings.Contains(text, "server gave HTTP response to HTTPS client") {
		text = noTLS
	}
	if dialling {
		text = op.Err.Error()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		text = "no node listens there (connection refused)"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text = "no answer in time"
	}
	if r.change && !dialling {
		return &api.Error{Kind: api.UnknownOutcome, Message: fmt.Sprintf("outcome unknown: the change was sent to %s, then: %s", address, text)}
	}
	return unreached(address, text)
}

// silent is the error of a node that gave no answer; that of a node which
// could not reach another cluster is of the same kind.
type silent struct{ err *api.Error }

func (e silent) Error() string { return e.err.Error() }

// Unwrap returns what callers act on.
func (e silent) Unwrap() error { return e.err }

func unreached(address, why string) error {
	return silent{&api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("can't reach floe at %s: %s", address, why)}}
}

// elsewhere tells whether another node may do better. Nothing was changed.
func elsewhere(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case api.Unreachable, api.NoQuorum, api.NotReady:
		return true
	}
	return false
}

// worst joins the errors of several nodes: an answer of a node counts more
// than nodes that can't be reached.
func worst(failed []error) error {
	texts := make([]string, 0, len(failed))
	for _, err := range failed {
		var e silent
		if !errors.As(err, &e) {
			return err
		}
		texts = append(texts, e.err.Message)
	}
	if len(texts) == 0 {
		return &api.Error{Kind: api.Unreachable, Message: "no address of a node given"}
	}
	return &api.Error{Kind: api.Unreachable, Message: strings.Join(texts, "; ")}
}
