package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/rmr/proto"
)

// madeCerts makes an authority with a certificate for a node at an address, and one for a person.
func madeCerts(t *testing.T, cluster, ip, person string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, args := range [][]string{{"ca", "--cluster", cluster}, {"node", "--id", "n1", "--host", ip}, {"client", "--name", person, "--role", "operate"}} {
		if o := floetest.Floe(t, append([]string{"cert", args[0], "--dir", dir}, args[1:]...)...); o.Exit != 0 {
			t.Fatal(o)
		}
	}
	return dir
}

// withSSL are the properties of Ice that have a program speak ssl by these files.
func withSSL(cert, key, authority string) []string {
	return []string{"--Ice.Plugin.IceSSL=IceSSL:createIceSSL", "--IceSSL.CertFile=" + cert, "--IceSSL.KeyFile=" + key, "--IceSSL.CAs=" + authority}
}

// S5: the stock icestormadmin over ssl, by the certificate that it shows, and over tcp: changes are for certificates alone,
// the rest is open, and what is refused says why.
func TestIceAccessByCertificate(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	ours, other := madeCerts(t, "demo", n.IP, "alice"), madeCerts(t, "other", n.IP, "mallory")
	ssl := "IceStorm/TopicManager:ssl -h " + n.IP + " -p 10001"
	n.Flags = []string{"--ice-ssl", ":10001", "--ice-tls-cert", ours + "/n1.crt", "--ice-tls-key", ours + "/n1.key", "--ice-tls-ca", ours + "/ca.crt",
		"--ice-allow", "change=cert; subscribe=cert:alice,10.0.0.0/8"}
	n.Start()
	n.WaitReady()
	alice := withSSL(ours+"/alice.crt", ours+"/alice.key", ours+"/ca.crt")

	if _, stderr, exit := peers.Admin(t, n.Ice(), "create A"); exit != 1 || !strings.Contains(stderr, "create is not for 127.") || !strings.Contains(stderr, "--ice-allow") {
		t.Errorf("create over tcp: exit %d, %q", exit, stderr)
	}
	if stdout, stderr, exit := peers.Admin(t, ssl, append(alice, "create A B", "link A B 5", "links")...); exit != 0 || !strings.Contains(stdout, "B with cost 5") {
		t.Errorf("over ssl with a certificate: exit %d, %q, %q", exit, stdout, stderr)
	}
	if stdout, stderr, exit := peers.Admin(t, n.Ice(), "topics"); exit != 0 || stdout != "A\nB\n" {
		t.Errorf("topics over tcp: exit %d, %q, %q", exit, stdout, stderr)
	}
	if _, stderr, exit := peers.Admin(t, n.Ice(), "destroy A"); exit != 1 || !strings.Contains(stderr, "destroy is not for") {
		t.Errorf("destroy over tcp: exit %d, %q", exit, stderr)
	}
	mallory := withSSL(other+"/mallory.crt", other+"/mallory.key", ours+"/ca.crt")
	if _, stderr, exit := peers.Admin(t, ssl, append(mallory, "destroy A")...); exit != 1 {
		t.Errorf("over ssl with a certificate of others: exit %d, %q", exit, stderr)
	}
	nobody := []string{"--Ice.Plugin.IceSSL=IceSSL:createIceSSL", "--IceSSL.CAs=" + ours + "/ca.crt"}
	if _, stderr, exit := peers.Admin(t, ssl, append(nobody, "destroy A")...); exit != 1 || !strings.Contains(stderr, "destroy is not for") {
		t.Errorf("over ssl without a certificate: exit %d, %q", exit, stderr)
	}
	if got := n.Must("topics"); got != "A\nB\n" {
		t.Errorf("topics: %q", got)
	}

	// Who it was stands in the history and in the log; what was refused, in the log and the metrics.
	if h := n.Must("history"); !strings.Contains(h, "cert:alice") {
		t.Errorf("history: %s", h)
	}
	n.WaitLog("request refused by --ice-allow")
	if _, text := floetest.Get(n.HTTP(), "/metrics"); !strings.Contains(text, `floe_ice_requests_refused_total{what="change"} 3`) {
		t.Errorf("no count of what was refused")
	}
	status := n.Must("status")
	for _, want := range []string{"ice        " + n.Ice() + "  plain, this machine only\n", "ice-ssl    " + net.JoinHostPort(n.IP, "10001") + "\n", "ice-allow  change=cert; subscribe=cert:alice,10.0.0.0/8\n"} {
		if !strings.Contains(status, want) {
			t.Errorf("status lacks %q: %s", want, status)
		}
	}
}

// Ice over ssl goes by new files without a restart, its programs' connections by theirs.
func TestIceCertificatesAreReplaced(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	dir, successor := madeCerts(t, "demo", n.IP, "alice"), madeCerts(t, "demo", n.IP, "alice")
	ssl := "IceStorm/TopicManager:ssl -h " + n.IP + " -p 10001"
	n.Flags = []string{"--ice-ssl", ":10001", "--ice-tls-cert", dir + "/n1.crt", "--ice-tls-key", dir + "/n1.key", "--ice-tls-ca", dir + "/ca.crt", "--ice-allow", "change=cert"}
	n.Start()
	n.WaitReady()
	before, after := withSSL(dir+"/alice.crt", dir+"/alice.key", dir+"/ca.crt"), withSSL(successor+"/alice.crt", successor+"/alice.key", successor+"/ca.crt")
	if _, stderr, exit := peers.Admin(t, ssl, append(before, "create A")...); exit != 0 {
		t.Fatalf("exit %d, %s", exit, stderr)
	}
	if _, _, exit := peers.Admin(t, ssl, append(after, "create B")...); exit != 1 {
		t.Fatal("the next authority is believed already")
	}
	for _, name := range []string{"ca.crt", "n1.key", "n1.crt"} {
		b, err := os.ReadFile(filepath.Join(successor, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	floetest.Eventually(t, floetest.Patience, func() error {
		if _, stderr, exit := peers.Admin(t, ssl, append(after, "create B")...); exit != 0 {
			return fmt.Errorf("by the new certificates: exit %d, %s", exit, stderr)
		}
		return nil
	})
	if got := n.Must("topics"); got != "A\nB\n" {
		t.Errorf("topics: %q", got)
	}
}

// P02: a program at an address that the rules don't have for a type can't send it to either listener, whatever name it goes by; it is
// counted, and named in the log. Who may send goes on, and gets its answers.
func TestRMRAccessByTypeAndAddress(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	good, rogue := floetest.NewIP(t), floetest.NewIP(t)
	rules := "100=any; 12010-12099=" + good + "/32; *=none"
	n.Flags = []string{"--rmr-allow", rules}
	n.Start()
	n.WaitReady()
	server := startApp(t, n, rmrapp.Config{Handle: echo})
	loadRoutes(t, n, "newrt|start\nmse|12010|-1|"+server.ID()+"\nmse|1002|-1|"+server.ID()+"\nmse|20000|-1|"+server.ID()+"\nnewrt|end|3\n")

	asks := func(mtype int32) proto.Message {
		m := proto.NewCall(1)
		m.Type, m.Payload = mtype, []byte("ask")
		return m
	}
	intruder := rmrFrom(t, rogue, rmrOf(n))
	for _, mtype := range []int32{12010, 20000, answerType, proto.TypeTable} {
		m := asks(mtype)
		m.Src = []byte("submgr:4560") // anybody can say so
		intruder.send(m)
	}
	rmrFrom(t, rogue, topicsOf(n)).send(asks(12010))
	intruder.send(asks(100)) // what came before it is dealt with
	if got := intruder.next(); got.Type != 101 {
		t.Errorf("the health check is answered with %+v", got)
	}
	client := rmrFrom(t, good, rmrOf(n))
	client.send(asks(20000))
	client.send(asks(12010))
	if got := client.next(); got.Type != answerType || string(got.Payload) != "re: ask" {
		t.Errorf("answered with %d %q", got.Type, got.Payload)
	}
	waitMetric(t, n, func(v float64) bool { return v == 6 }, "floe_messages_dropped_total", `reason="not_allowed"`)
	if got := server.Stats().Received; got != 1 {
		t.Errorf("%d messages came through", got)
	}
	n.WaitLog("type=12010 peer=" + rogue + ":")
	n.WaitLog("type=20000 peer=" + good + ":")
	if lines := strings.Count(n.Log(), "message refused by --rmr-allow"); lines != 3 { // of two addresses, one at two listeners
		t.Errorf("%d lines in the log", lines)
	}

	if status := n.Must("status"); !strings.Contains(status, "rmr-allow  "+rules+"\n") {
		t.Errorf("status: %s", status)
	}
	var st api.Status
	if err := json.Unmarshal([]byte(n.Must("status", "--json")), &st); err != nil || st.RMRAllow != rules {
		t.Errorf("status in JSON: %q, %v", st.RMRAllow, err)
	}
}

// rmrConn is a connection from one of this machine's addresses.
type rmrConn struct {
	t      *testing.T
	nc     net.Conn
	frames *proto.Reader
}

func rmrFrom(t *testing.T, ip, to string) *rmrConn {
	t.Helper()
	nc, err := (&net.Dialer{Timeout: floetest.Patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(floetest.Patience)); err != nil {
		t.Fatal(err)
	}
	return &rmrConn{t, nc, proto.NewReader(nc, proto.DefaultLimit)}
}

func (c *rmrConn) send(m proto.Message) {
	c.t.Helper()
	frame, err := proto.Append(nil, &m)
	if err == nil {
		_, err = c.nc.Write(frame)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// next is the next message that comes back.
func (c *rmrConn) next() (m proto.Message) {
	c.t.Helper()
	frame, err := c.frames.Next()
	if err == nil {
		err = proto.Parse(frame, &m)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return m.Clone()
}
