package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"floe/transport/http/api"
	"floe/transport/http/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// refused returns an address nobody listens on.
func refused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silent returns an address that takes connections and never answers, as a
// stopped process does.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// serve returns the address of a server that answers /healthz, and hands all
// else to f.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			w.Write([]byte("ok\n"))
			return
		}
		f(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func answer(status int, v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
}

func failure(kind api.Kind, text string) http.HandlerFunc {
	return answer(kind.Status(), api.ErrorBody{Error: &api.Error{Kind: kind, Message: text}})
}

func newClient(t *testing.T, timeout time.Duration, addresses ...string) *client.Client {
	t.Helper()
	c := client.New(client.Config{Addresses: addresses, Timeout: timeout})
	t.Cleanup(c.Close)
	return c
}

func wantKind(t *testing.T, err error, kind api.Kind, text string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Message, text) {
		t.Errorf("got %#v, want kind %s with %q", err, kind, text)
	}
}

func TestAddressesAreTriedInTurn(t *testing.T) {
	topics := []api.Topic{{Name: "A", ID: 1}}
	good := serve(t, answer(200, topics))
	for name, addresses := range map[string][]string{
		"refused":   {refused(t), good},
		"silent":    {silent(t), good},
		"no quorum": {serve(t, failure(api.NoQuorum, "no quorum")), good},
	} {
		got, err := newClient(t, 2*time.Second, addresses...).Topics(t.Context())
		if err != nil || len(got) != 1 || got[0] != topics[0] {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestNoNodeAnswers(t *testing.T) {
	down, mute := refused(t), silent(t)
	start := time.Now()
	_, err := newClient(t, 10*time.Second, down).Topics(t.Context())
	wantKind(t, err, api.Unreachable, down)
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("a refused connection took %s", d)
	}
	for _, change := range []bool{false, true} {
		start = time.Now()
		c := newClient(t, 300*time.Millisecond, mute, down)
		if change {
			_, err = c.Create(t.Context(), "A")
		} else {
			_, err = c.Topics(t.Context())
		}
		wantKind(t, err, api.Unreachable, mute)
		wantKind(t, err, api.Unreachable, down)
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("a silent host took %s", d)
		}
	}
	_, err = newClient(t, time.Second).Topics(t.Context())
	wantKind(t, err, api.Unreachable, "no address")
}

// What a node says counts more than that others can't be reached.
func TestAnswersCountMost(t *testing.T) {
	_, err := newClient(t, time.Second, serve(t, failure(api.NoQuorum, "1 of 3 voters reachable")), refused(t)).Create(t.Context(), "A")
	wantKind(t, err, api.NoQuorum, "1 of 3 voters reachable")
}

// A refusal is final: no other node is asked.
func TestRefusalsAreFinal(t *testing.T) {
	var asked atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, err := newClient(t, time.Second, serve(t, failure(api.TopicExists, "exists")), other).Create(t.Context(), "A")
	wantKind(t, err, api.TopicExists, "exists")
	if asked.Load() != 0 {
		t.Error("another node was asked")
	}
}

// A change whose answer never comes has an unknown outcome and is not sent again.
func TestUnknownOutcome(t *testing.T) {
	var asked atomic.Int32
	release := make(chan struct{})
	hang := func(w http.ResponseWriter, r *http.Request) { asked.Add(1); <-release }
	a, b := serve(t, hang), serve(t, hang)
	t.Cleanup(func() { close(release) }) // before the servers are closed
	c := newClient(t, 300*time.Millisecond, a, b)
	_, err := c.Create(t.Context(), "A")
	wantKind(t, err, api.UnknownOutcome, a)
	if asked.Load() != 1 {
		t.Errorf("sent %d times, want once", asked.Load())
	}

	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	_, err = newClient(t, time.Second, cut).Create(t.Context(), "A")
	wantKind(t, err, api.UnknownOutcome, cut)
}

func TestWhatIsSent(t *testing.T) {
	type sent struct{ method, target, body string }
	var got sent
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 4096)
		n, _ := r.Body.Read(b)
		got = sent{r.Method, r.URL.RequestURI(), string(b[:n])}
		if r.Header.Get("Floe-Timeout") == "" {
			t.Error("no Floe-Timeout")
		}
		w.Write([]byte(`{}`))
	})
	c := newClient(t, time.Second, address)
	tests := []struct {
		do   func() error
		want sent
	}{
		{func() error { return c.Destroy(t.Context(), "a/b\n&", false) }, sent{"DELETE", "/v1/topics?name=a%2Fb%0A%26", ""}},
		{func() error { return c.Destroy(t.Context(), "A", true) }, sent{"DELETE", "/v1/topics?force=true&name=A", ""}},
		{func() error { _, err := c.Link(t.Context(), api.NewLink{From: "A", To: "", Cost: -3}); return err }, sent{"POST", "/v1/links", `{"from":"A","to":"","cost":-3}`}},
		{func() error { return c.Unlink(t.Context(), "A", "") }, sent{"DELETE", "/v1/links?from=A&to=", ""}},
		{func() error { return c.UnlinkMessages(t.Context(), "A", "7/1") }, sent{"DELETE", "/v1/links?from=A&messages=true&to=7%2F1", ""}},
		{func() error { _, err := c.Leave(t.Context()); return err }, sent{"POST", "/v1/leave", ""}},
		{func() error { return c.Publish(t.Context(), api.Publish{Topic: "A", Data: []byte{0}}) }, sent{"POST", "/v1/events", `{"topic":"A","data":"AA=="}`}},
		{func() error { _, err := c.Topic(t.Context(), ""); return err }, sent{"GET", "/v1/topics?name=", ""}},
	}
	for _, tt := range tests {
		if err := tt.do(); err != nil || got != tt.want {
			t.Errorf("got %v, %v, want %v", got, err, tt.want)
		}
	}
}

func TestStale(t *testing.T) {
	var copies []client.Copy
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("stale") != "1" {
			t.Errorf("got %s, want stale=1", r.URL)
		}
		w.Header().Set("Floe-Node", "n2")
		w.Header().Set("Floe-Index", "17")
		w.Header().Set("Floe-Age", "1.5")
		w.Write([]byte(`[]`))
	})
	c := client.New(client.Config{Addresses: []string{address}, Stale: true, OnStale: func(c client.Copy) { copies = append(copies, c) }})
	defer c.Close()
	if _, err := c.Topics(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := client.Copy{Node: "n2", Index: 17, Age: 1500 * time.Millisecond}
	if len(copies) != 1 || copies[0] != want || want.String() != "answered by node n2 at applied index 17, which heard the leader 1.5s ago" {
		t.Errorf("got %v, want %v", copies, want)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	_, err := newClient(t, time.Second, serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) })).Topics(t.Context())
	wantKind(t, err, api.Internal, "not what this program knows")
	_, err = newClient(t, time.Second, serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "go away", http.StatusTeapot) })).Topics(t.Context())
	wantKind(t, err, api.Internal, "go away")
}

// An answer over the limit is an error and never a part of one, also where it is text; so is a line of a stream,
// which no other node is asked for.
func TestAnswersOverTheLimit(t *testing.T) {
	const limit = 1 << 20
	var asked atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		size, _ := strconv.Atoi(r.URL.Query().Get("topic")) // 0 where it is none
		switch r.URL.Path {
		case "/v1/routes":
			w.Write(bytes.Repeat([]byte("# a comment    \n"), limit/16))
			if asked.Load() > 1 {
				w.Write([]byte("#"))
			}
		case "/v1/topics":
			w.Write([]byte("[]" + strings.Repeat(" ", limit-1)))
		case "/v1/events":
			w.Write([]byte(`{"subscribed":true}` + "\n" + `{"missed":3,"gap":"` + strings.Repeat("x", size) + `"}` + "\n"))
		case "/v1/watch":
			w.Write([]byte("id: 7\nevent: progress\ndata: {\"node\":\"" + strings.Repeat("x", limit) + "\"}\n\n"))
		}
	})
	c := newClient(t, time.Minute, address, address)
	if answer, line := c.SetLimits(limit, limit); answer != 256<<20 || line != 64<<20 {
		t.Errorf("as they come the limits are %d and %d", answer, line)
	}
	if text, err := c.Routes(t.Context()); err != nil || len(text) != limit {
		t.Errorf("a text within the limit: %d bytes, %v", len(text), err)
	}
	_, err := c.Routes(t.Context())
	wantKind(t, err, api.TooLarge, "the answer is over the limit of 1048576 bytes")
	_, err = c.Topics(t.Context())
	wantKind(t, err, api.TooLarge, "over the limit")

	for size, want := range map[int]bool{limit / 2: true, limit: false} {
		s, err := c.Subscribe(t.Context(), []string{strconv.Itoa(size)})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := s.Next()
		if want && (err != nil || ev.Missed != 3) {
			t.Errorf("a line of %d bytes: %v, %v", size, ev.Missed, err)
		} else if !want {
			wantKind(t, err, api.TooLarge, "has a line that is longer than this program takes")
		}
		s.Close()
	}
	asked.Store(0)
	watch := c.Watch(t.Context(), nil)
	defer watch.Close()
	_, err = watch.Next()
	wantKind(t, err, api.TooLarge, "has a line that is longer than this program takes")
	if got := asked.Load(); got != 1 {
		t.Errorf("%d nodes were asked", got)
	}
}

func TestStream(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query()["topic"][0] == "zz" {
			failure(api.NoSuchTopic, "no such topic")(w, r)
			return
		}
		w.Write([]byte(`{"subscribed":true}` + "\n{}\n" + `{"missed":3}` + "\n" + `{"event":{"topic":"A","operation":"message","cost":0,"context":{},"data":"aGk="}}` + "\n" + `{"error":{"kind":"not_ready","message":"this node stops"}}` + "\n"))
	})
	c := newClient(t, time.Second, refused(t), address)
	_, err := c.Subscribe(t.Context(), []string{"zz"})
	wantKind(t, err, api.NoSuchTopic, "no such topic")
	s, err := c.Subscribe(t.Context(), []string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if ev, err := s.Next(); err != nil || ev.Missed != 3 {
		t.Errorf("got %v, %v", ev, err)
	}
	if ev, err := s.Next(); err != nil || ev.Received == nil || string(ev.Received.Data) != "hi" {
		t.Errorf("got %v, %v", ev, err)
	}
	if ev, err := s.Next(); err != nil || ev.Gap != address+": this node stops; "+address+" goes on" {
		t.Errorf("got %v, %v, want a gap", ev, err)
	}
	if ev, err := s.Next(); err != nil || ev.Missed != 3 {
		t.Errorf("got %v, %v", ev, err)
	}

	_, err = newClient(t, 200*time.Millisecond, silent(t)).Subscribe(t.Context(), []string{"A"})
	wantKind(t, err, api.Unreachable, "no answer in time")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Subscribe(ctx, []string{"A"}); err == nil {
		t.Error("no error though the caller gave up")
	}
}

// An event stream outlives its node where another one is named: one that
// ends, that says that it stops, that is silent. What a node refuses ends it.
func TestStreamGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	const event = `{"event":{"topic":"A","operation":"message","cost":0,"context":{},"data":"aGk="}}` + "\n"
	begins := func(rest string, hang bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(`{"subscribed":true}` + "\n" + rest))
			if hang {
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
		}
	}
	ends := serve(t, begins("", false))
	stops := serve(t, begins(`{"error":{"kind":"not_ready","message":"this node stops"}}`+"\n", false))
	goes := serve(t, begins(event, true))
	mute := serve(t, begins("", true))
	for name, c := range map[string]struct{ first, gap string }{
		"ends":   {ends, "the event stream from " + ends + " ended: unexpected EOF; " + goes + " goes on"},
		"stops":  {stops, stops + ": this node stops; " + goes + " goes on"},
		"silent": {mute, "the event stream from " + mute + " is silent for 8s; " + goes + " goes on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := newClient(t, 2*time.Second, c.first, refused(t), goes).Subscribe(t.Context(), []string{"A"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if ev, err := s.Next(); err != nil || ev.Gap != c.gap {
				t.Errorf("got %+v, %v, want the gap %q", ev, err, c.gap)
			}
			if ev, err := s.Next(); err != nil || ev.Received == nil || string(ev.Received.Data) != "hi" {
				t.Errorf("got %+v, %v, want the event of the other node", ev, err)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		s, err := newClient(t, 2*time.Second, ends, serve(t, failure(api.NoSuchTopic, `"A": no such topic`))).Subscribe(t.Context(), []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Next()
		wantKind(t, err, api.NoSuchTopic, "no such topic")
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		s, err := newClient(t, 30*time.Second, mute, goes).Subscribe(t.Context(), []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			ev, err := s.Next()
			if err == nil {
				t.Errorf("after Close: %+v", ev)
			}
			ended <- err
		}()
		s.Close()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Error("Next waits on")
		}
	})
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int32
		only := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > 1 {
				failure(api.NotReady, "not ready")(w, r)
				return
			}
			begins("", false)(w, r)
		})
		s, err := newClient(t, 500*time.Millisecond, only).Subscribe(t.Context(), []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = s.Next()
		wantKind(t, err, api.NotReady, "not ready")
		if d := time.Since(began); d < 400*time.Millisecond || asked.Load() < 2 {
			t.Errorf("gave up after %v and %d calls", d, asked.Load())
		}
	})
}

// A watch goes on elsewhere also where its node was silent for longer than a call may take.
func TestWatchOutlivesASilentNode(t *testing.T) {
	t.Parallel()
	mute := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	goes := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("id: 7\nevent: progress\ndata: {\"index\":7,\"node\":\"n2\"}\n\n"))
	})
	w := newClient(t, time.Second, mute, goes).Watch(t.Context(), nil)
	defer w.Close()
	if ev, err := w.Next(); err != nil || ev.Index != 7 {
		t.Errorf("got %+v, %v, want what the other node tells", ev, err)
	}
}

// Text that is no UTF-8 is refused before it is sent; data may be any bytes.
func TestTextThatIsNone(t *testing.T) {
	c := newClient(t, time.Second, serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("{}")) }))
	const bad = "a\xff"
	_, created := c.Create(t.Context(), bad)
	_, linked := c.Link(t.Context(), api.NewLink{From: "A", To: bad})
	_, added := c.AddCluster(t.Context(), api.Cluster{Name: bad})
	for _, err := range []error{created, linked, added, c.Publish(t.Context(), api.Publish{Topic: "A", Context: map[string]string{"k": bad}})} {
		wantKind(t, err, api.InvalidName, `"a\xff": not UTF-8 text`)
	}
	_, err := c.Apply(t.Context(), api.Apply{Script: "create A\n\ncreate " + bad + "\n"})
	wantKind(t, err, api.InvalidName, "line 3: ")
	if err := c.Publish(t.Context(), api.Publish{Topic: "A", Data: []byte(bad)}); err != nil {
		t.Error(err)
	}
}
