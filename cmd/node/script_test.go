package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"floe-bin": main})
}

// The scripts are what a person types and sees. "floe" runs inside this
// process, "exec floe-bin" as a process of its own. "node" starts a node on free
// ports and waits until it is ready; "stop" stops it as SIGTERM does.
func TestScripts(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ICESTORM_EXPORT", filepath.Join(here, "../../transport/ice/icestorm/testdata/odd.export"))
			e.Values[nodesKey] = map[string]*running{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"floe": cmdFloe, "code": cmdCode, "node": cmdNode, "stop": cmdStop, "waitfor": cmdWaitFor, "voters": cmdVoters, "ended": cmdEnded, "routes": cmdRoutes, "logged": cmdLogged, "recv": cmdRecv, "index": cmdIndex, "jointoken": cmdJoinToken, "keyid": cmdKeyID},
	})
}

type key string

const nodesKey key = "nodes"

// running is a node that runs inside the test.
type running struct {
	out, err safeBuffer
	cancel   context.CancelFunc
	done     chan int
	code     int
}

// safeBuffer is a buffer that is written and read by different goroutines.
type safeBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await returns the first submatch once the pattern matches.
func (s *safeBuffer) await(pattern string, ended <-chan int) (string, bool) {
	re, limit := regexp.MustCompile(pattern), time.After(20*time.Second)
	for {
		s.mu.Lock()
		m := re.FindStringSubmatch(s.b.String())
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		if m != nil {
			return m[1], true
		}
		select {
		case <-changed:
		case <-ended:
			return "", false
		case <-limit:
			return "", false
		}
	}
}

// startNode runs floe start in this process. It returns nil where the node
// ends at once; code and output are in the running then.
func startNode(args ...string) (r *running, http string, ok bool) {
	r = &running{done: make(chan int, 1)}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() {
		r.done <- run(ctx, append([]string{"start"}, args...), stdio{strings.NewReader(""), &r.out, &r.err, noEnv})
	}()
	ended := make(chan int, 1)
	go func() {
		code := <-r.done
		r.done <- code
		ended <- code
	}()
	http, ok = r.out.await(`listening for http +(\S+)`, ended)
	if !ok {
		return r, http, false
	}
	inTheClear := http
	if slices.Contains(args, "--metrics") { // --http speaks TLS, perhaps
		inTheClear, _ = r.out.await(`listening for metrics +(\S+)`, ended)
	}
	return r, http, awaitReady(inTheClear)
}

// awaitReady asks until a node is ready.
func awaitReady(address string) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return true
			}
		}
		<-tick.C
	}
	return false
}

// end stops a node and returns its exit code.
func (r *running) end() int {
	r.cancel()
	return <-r.done
}

func noEnv(string) (string, bool) { return "", false }

// cmdFloe: floe [<FILE] ARGS... runs one command line inside this process,
// which is much faster than a process of its own; FILE is its stdin.
func cmdFloe(ts *testscript.TestScript, neg bool, args []string) {
	in := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		in, args = ts.ReadFile(args[0][1:]), args[1:]
	}
	env := func(name string) (string, bool) {
		v := ts.Getenv(name)
		return v, v != ""
	}
	code := run(context.Background(), args, stdio{strings.NewReader(in), ts.Stdout(), ts.Stderr(), env})
	ts.Value(nodesKey).(map[string]*running)["code"] = &running{code: code}
	if (code != 0) != neg {
		ts.Fatalf("floe %q ended with %d", args, code)
	}
}

// cmdCode: code N compares with what the last floe ended with.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: code N")
	}
	if got := ts.Value(nodesKey).(map[string]*running)["code"].code; strconv.Itoa(got) != args[0] {
		ts.Fatalf("floe ended with %d, want %s", got, args[0])
	}
}

// freePorts are listeners on ports that the system chooses.
var freePorts = []string{"--peer", "127.0.0.1:0", "--ice", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rmr", "127.0.0.1:0", "--rmr-topics", "127.0.0.1:0", "--rtg", "127.0.0.1:0"}

// cmdNode: node NAME [FLAGS...] starts a node with its data in $WORK/NAME and
// sets FLOE_ADDR, and addresses as $NAME_HTTP, $NAME_PEER and $NAME_METRICS. Where
// --http speaks TLS, --metrics has to be among the flags.
func cmdNode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: node NAME [FLAGS...]")
	}
	name := args[0]
	flags := append(append([]string{"--data", ts.MkAbs(name), "--id", name}, freePorts...), args[1:]...)
	r, address, ok := startNode(flags...)
	ts.Defer(func() {
		r.cancel()
		<-r.done
		r.done <- 0
	})
	if !ok {
		r.cancel()
		ts.Fatalf("node %s did not become ready\n%s%s", name, r.out.String(), r.err.String())
	}
	ts.Value(nodesKey).(map[string]*running)[name] = r
	peer, _ := r.out.await(`listening for peer +(\S+)`, nil)
	ts.Setenv("FLOE_ADDR", address)
	ts.Setenv(name+"_HTTP", address)
	ts.Setenv(name+"_PEER", peer)
	ts.Setenv(name+"_METRICS", address)
	if slices.Contains(args, "--metrics") {
		metrics, _ := r.out.await(`listening for metrics +(\S+)`, nil)
		ts.Setenv(name+"_METRICS", metrics)
	}
}

// cmdRecv: recv NAME FLAGS... starts floe recv on a free port, whose endpoint
// becomes $NAME. "ended NAME" waits until it ends, "stop NAME" keeps its output.
func cmdRecv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: recv NAME [FLAGS...]")
	}
	r := &running{done: make(chan int, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		line := append([]string{"recv", "--listen", "127.0.0.1:0"}, args[1:]...)
		r.done <- run(ctx, line, stdio{strings.NewReader(""), &r.out, &r.err, noEnv})
	}()
	ts.Defer(func() {
		r.cancel()
		<-r.done
		r.done <- 0
	})
	endpoint, ok := r.err.await(`listening on (\S+)`, nil)
	if !ok {
		ts.Fatalf("floe recv does not listen\n%s", r.err.String())
	}
	ts.Value(nodesKey).(map[string]*running)[args[0]] = r
	ts.Setenv(args[0], endpoint)
}

// cmdJoinToken: jointoken NAME [FLAGS...] makes a token for joining, which becomes $NAME.
func cmdJoinToken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: jointoken NAME [FLAGS...]")
	}
	var out, errs bytes.Buffer
	env := func(name string) (string, bool) {
		v := ts.Getenv(name)
		return v, v != ""
	}
	if code := run(context.Background(), append([]string{"token", "join"}, args[1:]...), stdio{strings.NewReader(""), &out, &errs, env}); code != 0 {
		ts.Fatalf("no token: %s", errs.String())
	}
	ts.Setenv(args[0], strings.TrimSpace(out.String()))
}

// cmdKeyID: keyid NAME [NOT] makes $NAME the id of a secret of the gossip, other than NOT.
func cmdKeyID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: keyid NAME [NOT]")
	}
	var out bytes.Buffer
	addr := func(name string) (string, bool) { v := ts.Getenv(name); return v, v != "" }
	run(context.Background(), []string{"keys", "list"}, stdio{strings.NewReader(""), &out, io.Discard, addr})
	for _, id := range regexp.MustCompile(`(?m)^[0-9a-f]{8}`).FindAllString(out.String(), -1) {
		if len(args) < 2 || id != args[1] {
			ts.Setenv(args[0], id)
			return
		}
	}
	ts.Fatalf("no id in %s", out.String())
}

// cmdStop: stop NAME stops a node and leaves its output in $WORK/NAME.out.
func cmdStop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stop NAME")
	}
	r := ts.Value(nodesKey).(map[string]*running)[args[0]]
	code := r.end()
	r.done <- code
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(r.out.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(r.err.String()), 0o644))
	if code != 0 {
		ts.Fatalf("node %s ended with %d\n%s", args[0], code, r.err.String())
	}
}

// cmdWaitFor: waitfor NAME N waits until a node wants the events of N topics
// for native subscribers.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor NAME N")
	}
	await(ts, func() bool { return strings.Contains(scrape(ts, args[0]), "\nfloe_native_topics "+args[1]+"\n") })
}

// cmdVoters: voters NAME N waits until a node's cluster has N voters.
func cmdVoters(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: voters NAME N")
	}
	await(ts, func() bool { return strings.Contains(scrape(ts, args[0]), "\nfloe_voters "+args[1]+"\n") })
}

// cmdRoutes: routes NAME N waits until a node's copy has N routes.
func cmdRoutes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: routes NAME N")
	}
	await(ts, func() bool { return strings.Contains(scrape(ts, args[0]), "\nfloe_routes "+args[1]+"\n") })
}

// cmdIndex: index NAME VAR sets VAR to the index a node's copy stands at.
func cmdIndex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: index NAME VAR")
	}
	m := regexp.MustCompile(`\nfloe_applied_index (\d+)\n`).FindStringSubmatch(scrape(ts, args[0]))
	if m == nil {
		ts.Fatalf("node %s has no index", args[0])
	}
	ts.Setenv(args[1], m[1])
}

// cmdLogged: logged NAME TEXT waits until a node's log holds a text.
func cmdLogged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: logged NAME TEXT")
	}
	r := ts.Value(nodesKey).(map[string]*running)[args[0]]
	await(ts, func() bool { return strings.Contains(r.err.String(), args[1]) })
}

// cmdEnded: ended NAME waits until a node's process ended by itself, with 0.
func cmdEnded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ended NAME")
	}
	r := ts.Value(nodesKey).(map[string]*running)[args[0]]
	select {
	case code := <-r.done:
		r.done <- code
		if code != 0 {
			ts.Fatalf("node %s ended with %d\n%s", args[0], code, r.err.String())
		}
	case <-time.After(20 * time.Second):
		ts.Fatalf("node %s did not end", args[0])
	}
}

// scrape returns a node's metrics.
func scrape(ts *testscript.TestScript, name string) string {
	resp, err := http.Get("http://" + ts.Getenv(name+"_METRICS") + "/metrics")
	ts.Check(err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	ts.Check(err)
	return b.String()
}

// await looks again and again until cond holds.
func await(ts *testscript.TestScript, cond func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4000 {
		if cond() {
			return
		}
		<-tick.C
	}
	ts.Fatalf("it never came to that")
}
