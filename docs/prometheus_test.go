package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"floe/scripts/floetest"
)

// promtool runs Prometheus' own checks in the folder of the rules.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir, cmd.Stdin = "prometheus", strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// The rules are rules, each alert is raised by what it is for and by nothing else, and the configuration loads.
func TestAlertRules(t *testing.T) {
	promtool(t, "", "check", "rules", "floe.rules.yml")
	promtool(t, "", "check", "config", "prometheus.yml")
	promtool(t, "", "test", "rules", "floe.test.yml")
	tests := read(t, "prometheus/floe.test.yml")
	for _, alert := range first(`(?m)- alert: (\w+)`, read(t, "prometheus/floe.rules.yml")) {
		if !regexp.MustCompile(`alertname(: |=")` + alert + `\b`).MatchString(tests) {
			t.Errorf("floe.test.yml does not try %s", alert)
		}
	}
}

// dashboard is what the tests look at of a Grafana dashboard.
type dashboard struct {
	Panels []struct {
		ID          int
		Type, Title string
		Description string
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ Expr string }
		FieldConfig struct{ Defaults struct{ Unit string } }
		Datasource  struct{ UID string }
	}
	Templating struct {
		List []struct{ Name, Query string }
	}
	Annotations struct{ List []struct{ Expr string } }
}

func grafana(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "grafana/floe.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Every panel says what it shows, has its place to itself, and uses the data source that was chosen.
func TestDashboard(t *testing.T) {
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range grafana(t).Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && (p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("panel %d is not complete: %+v", p.ID, p)
		}
	}
	if len(ids) < 40 {
		t.Errorf("only %d panels", len(ids))
	}
}

// expressions are those of the dashboard, with values for its variables, and of the rules.
func expressions(t *testing.T) (panels []string, rules string) {
	t.Helper()
	values := strings.NewReplacer("$__rate_interval", "5s", "$job", "floe", "$instance", ".*")
	d := grafana(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			panels = append(panels, values.Replace(target.Expr))
		}
	}
	for _, a := range d.Annotations.List {
		panels = append(panels, values.Replace(a.Expr))
	}
	for _, v := range d.Templating.List {
		if labels := regexp.MustCompile(`^label_values\((.+), \w+\)$`).FindStringSubmatch(v.Query); labels != nil {
			panels = append(panels, values.Replace(labels[1]))
		}
	}
	for _, m := range regexp.MustCompile(`(?ms)^\s+expr: (.*?)^\s+(?:for|labels):`).FindAllStringSubmatch(read(t, "prometheus/floe.rules.yml"), -1) {
		rules += m[1] + "\n"
	}
	return panels, rules
}

// prometheus is a server of that name that scrapes every half second.
type prometheus struct {
	t       *testing.T
	address string
}

// startPrometheus has one scrape the targets, by the rules of this folder made impatient: they wait one second. It
// ends with the test.
func startPrometheus(t *testing.T, targets []string) prometheus {
	t.Helper()
	dir := t.TempDir()
	rules := regexp.MustCompile(`for: \w+`).ReplaceAllString(read(t, "prometheus/floe.rules.yml"), "for: 1s")
	config := "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\nrule_files: [floe.rules.yml]\n" +
		"scrape_configs: [{job_name: floe, static_configs: [{targets: ['" + strings.Join(targets, "', '") + "']}]}]\n"
	for name, text := range map[string]string{"floe.rules.yml": rules, "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := prometheus{t, net.JoinHostPort(floetest.NewIP(t), "9090")}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", p.address, "--log.level", "warn")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also where the test's process is killed
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; scripts/install-deps installs prometheus", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended; nothing of it is kept
		_ = cmd.Wait()
		_ = log.Close()
		if b, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("prometheus: %s", b)
		}
	})
	p.await("to be ready", func() error {
		if code, text := floetest.Get(p.address, "/-/ready"); code != 200 {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
	return p
}

func (p prometheus) await(what string, ok func() error) {
	p.t.Helper()
	floetest.Eventually(p.t, 2*floetest.Patience, func() error {
		if err := ok(); err != nil {
			return fmt.Errorf("waiting for Prometheus %s: %w", what, err)
		}
		return nil
	})
}

// sample is one result of a query.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

func (s sample) value() float64 {
	text, _ := s.Value[1].(string)
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

// query asks for the value of an expression now.
func (p prometheus) query(expr string) ([]sample, error) {
	var answer struct {
		Status, Error string
		Data          struct{ Result []sample }
	}
	_, text := floetest.Get(p.address, "/api/v1/query?query="+url.QueryEscape(expr))
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", expr, err, text)
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	return answer.Data.Result, nil
}

// awaitValue waits until an expression has one value, and it is this one.
func (p prometheus) awaitValue(expr string, want float64) {
	p.t.Helper()
	p.await("to have "+expr, func() error {
		got, err := p.query(expr)
		if err == nil && (len(got) != 1 || got[0].value() != want) {
			err = fmt.Errorf("got %v, want %v", got, want)
		}
		return err
	})
}

// A real Prometheus watches three nodes, and one with certificates: it has every figure that dashboard and rules go
// by, the figures are right, and it raises an alert for a node that was killed, until that is back.
func TestPrometheusWatchesACluster(t *testing.T) {
	c := floetest.StartCluster(t, 3)
	n := c.Nodes[0]
	secured, metrics := startSecured(t)
	n.Must("create", "A", "B")
	n.Must("link", "A", "B")
	n.Must("link", "A", "--to-messages", "1000")
	subscribe(t, n, "B")
	message(t, n)
	targets := []string{metrics}
	for _, node := range c.Nodes {
		targets = append(targets, node.HTTP())
	}
	p := startPrometheus(t, targets)
	p.awaitValue(`sum(up)`, 4)

	// Published after Prometheus began, so that it sees the rates as well.
	const events = 40
	for range events {
		n.Must("pub", "A", "hello")
	}
	for expr, want := range map[string]float64{
		`count(floe_node_info{cluster!=""})`:                                   4,
		`sum(floe_leader{instance!="` + metrics + `"})`:                        1,
		`min(floe_voters{instance!="` + metrics + `"})`:                        3,
		`sum(floe_topic_published_total{topic="A"})`:                           events,
		`sum(floe_link_forwarded_total{topic="A",target="B"})`:                 events,
		`sum(floe_subscriber_delivered_total{topic="B",subscriber="nobody"})`:  events,
		`sum(floe_route_messages_total{mtype="1000"})`:                         events + 1,
		`sum(floe_node_alive{node="n3"})`:                                      3,
		`sum(floe_change_seconds_count{instance="` + n.HTTP() + `"}) > bool 3`: 1,
		`count(floe_store_write_seconds_total > 0)`:                            4,
		`count(go_goroutines > 0)`:                                             4,
		`count(floe_tls_expiry_seconds > 86400)`:                               2,
		`max(abs(sum by (instance, face) (floe_events_offered_total) - sum by (instance, face) (floe_events_delivered_total) - sum by (instance, face) (floe_events_dropped_total) - sum by (instance, face) (floe_events_queued)))`: 0,
	} {
		p.awaitValue(expr, want)
	}
	checkNames(t, p)
	for _, node := range targets {
		_, text := floetest.Get(node, "/metrics")
		promtool(t, text+"\n", "check", "metrics")
	}

	down := `ALERTS{alertname="FloeNodeDown",alertstate="firing",severity="critical",instance="` + c.Nodes[2].HTTP() + `"}`
	quiet := `count(ALERTS{alertname=~"FloeNodeDown|FloeNoLeader|FloeMajorityAtRisk|FloeNotReady|FloeStateDiffers|FloeStoreFailed"}) or vector(0)`
	p.awaitValue(quiet, 0)
	c.Nodes[2].Kill()
	p.awaitValue(down, 1)
	p.awaitValue(`count(ALERTS{alertname="FloeMajorityAtRisk",alertstate="firing"})`, 1)
	p.awaitValue(`max(floe_node_alive{node="n3",instance!="`+c.Nodes[2].HTTP()+`"})`, 0)
	c.Restart()
	p.awaitValue(quiet, 0)
	secured.Stop()
}

// checkNames checks that Prometheus has every metric that dashboard and rules name, and takes their expressions.
func checkNames(t *testing.T, p prometheus) {
	t.Helper()
	panels, rules := expressions(t)
	_, text := floetest.Get(p.address, "/api/v1/label/__name__/values")
	var names struct{ Data []string }
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		t.Fatal(err)
	}
	used := first(`\b((?:floe|go|process)_\w+)`, strings.Join(panels, "\n")+rules)
	if len(used) < 50 {
		t.Errorf("dashboard and rules name only %d metrics: %v", len(used), used)
	}
	for _, name := range used {
		if !slices.Contains(names.Data, name) {
			t.Errorf("dashboard or rules name %s, which no node has", name)
		}
	}
	for _, expr := range panels {
		if _, err := p.query(expr); err != nil {
			t.Error(err)
		}
	}
}

// startSecured starts a node with certificates, that is a cluster of its own, and returns where its figures are.
func startSecured(t *testing.T) (n *floetest.Node, metrics string) {
	t.Helper()
	dir := t.TempDir()
	n = floetest.NewNode(t, "secured")
	metrics = net.JoinHostPort(n.IP, "7481")
	for _, args := range [][]string{{"ca", "--cluster", "demo"}, {"node", "--id", "secured"}} {
		if o := floetest.Floe(t, append([]string{"cert", args[0], "--dir", dir}, args[1:]...)...); o.Exit != 0 {
			t.Fatal(o)
		}
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Flags = []string{"--metrics", metrics, "--gossip-key-file", secret, "--tls-ca", filepath.Join(dir, "ca.crt"),
		"--tls-cert", filepath.Join(dir, "secured.crt"), "--tls-key", filepath.Join(dir, "secured.key")}
	n.Start()
	floetest.Eventually(t, floetest.Patience, func() error {
		if code, text := floetest.Get(metrics, "/readyz"); code != 200 {
			return errors.Join(fmt.Errorf("not ready: %d", code), errors.New(text))
		}
		return nil
	})
	return n, metrics
}
