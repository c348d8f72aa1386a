package certs_test

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"floe/transport/certs"
)

// iceServer answers TLS connections by saying whose certificate it saw.
func iceServer(t *testing.T, config *tls.Config) (address string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if c.(*tls.Conn).Handshake() == nil {
				who := "nobody"
				if seen := c.(*tls.Conn).ConnectionState().VerifiedChains; len(seen) > 0 {
					who = seen[0][0].Subject.CommonName
				}
				_, _ = io.WriteString(c, who)
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}

// visit calls a TLS server by the name of a host, and returns what it says
// and when its certificate ends.
func visit(address, host string, config *tls.Config) (said string, ends time.Time, err error) {
	config = config.Clone()
	config.ServerName = host
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", address, config)
	if err != nil {
		return "", ends, err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	return string(b), c.ConnectionState().PeerCertificates[0].NotAfter, err
}

func (w *world) ice(t *testing.T, file string, ends time.Duration) *certs.Source {
	t.Helper()
	s, err := certs.OpenIce(w.iceFiles(file, ends), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) iceFiles(file string, ends time.Duration) certs.Files {
	w.t.Helper()
	pair, err := w.Issue(certs.Name{Node: file}, []string{file}, time.Now().Add(-24*time.Hour), 24*time.Hour+ends)
	if err != nil {
		w.t.Fatal(err)
	}
	f := certs.Files{Cert: w.dir + "/" + file + ".crt", Key: w.dir + "/" + file + ".key", CA: w.dir + "/" + certs.AuthorityCert}
	if err := pair.Save(f.Cert, f.Key, true); err != nil {
		w.t.Fatal(err)
	}
	return f
}

// Ice over ssl: whom each side believes, and that new files of both sides, a
// new authority included, are used without a restart.
func TestIceCertificates(t *testing.T) {
	w, other := newWorld(t, "demo"), newWorld(t, "other")
	server, client, stranger := w.ice(t, "server", time.Hour), w.ice(t, "client", time.Hour), other.ice(t, "stranger", time.Hour)
	quiet, asking := iceServer(t, server.IceServer(false)), iceServer(t, server.IceServer(true))
	if said, _, err := visit(asking, "server", client.IceClient()); said != "client" || err != nil {
		t.Errorf("got %q, %v", said, err)
	}
	if said, _, err := visit(quiet, "server", client.IceClient()); said != "nobody" || err != nil {
		t.Errorf("not asked for its certificate: got %q, %v", said, err)
	}
	none, err := certs.OpenIce(certs.Files{CA: w.dir + "/" + certs.AuthorityCert}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := visit(asking, "server", none.IceClient()); said != "nobody" || err != nil {
		t.Errorf("without a certificate: got %q, %v", said, err)
	}
	if _, _, err := visit(quiet, "elsewhere", client.IceClient()); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("the certificate of another host: %v", err)
	}
	if _, _, err := visit(quiet, "server", stranger.IceClient()); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a server of other authorities: %v", err)
	}
	trusting, err := certs.OpenIce(certs.Files{Cert: other.dir + "/stranger.crt", Key: other.dir + "/stranger.key", CA: w.dir + "/" + certs.AuthorityCert}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := visit(asking, "server", trusting.IceClient()); said != "nobody" || err != nil { // it keeps its certificate to itself
		t.Errorf("a client of other authorities: got %q, %v", said, err)
	}
	pair, err := tls.LoadX509KeyPair(pairOf(certs.Files{Cert: other.dir + "/stranger.crt", Key: other.dir + "/stranger.key"}))
	if err != nil {
		t.Fatal(err)
	}
	insists := &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }}
	if said, _, err := visit(asking, "server", insists); err == nil {
		t.Errorf("a client of other authorities is taken for %q", said)
	}
	trusted, err := certs.OpenIce(certs.Files{CA: other.dir + "/" + certs.AuthorityCert, Clusters: w.dir + "/" + certs.AuthorityCert}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := visit(asking, "server", trusted.IceClient()); err != nil {
		t.Errorf("a server of another cluster that may be linked to: %v", err)
	}

	againServer, againClient := run(t, server), run(t, client)
	w.iceFiles("server", 90*24*time.Hour)
	againServer <- nil
	eventually(t, "the new certificate is shown", func() bool {
		_, ends, err := visit(asking, "server", client.IceClient())
		return err == nil && time.Until(ends) > 80*24*time.Hour
	})
	// The server goes over to other authorities, and the client learns of them later.
	successor := newWorld(t, "demo")
	successor.dir = w.dir
	if err := successor.Save(w.dir, true); err != nil {
		t.Fatal(err)
	}
	successor.iceFiles("server", 30*24*time.Hour)
	againServer <- nil
	eventually(t, "the old authority is not believed any more", func() bool {
		_, _, err := visit(quiet, "server", client.IceClient())
		return err != nil && strings.Contains(err.Error(), "unknown authority")
	})
	successor.iceFiles("client", time.Hour)
	againClient <- nil
	eventually(t, "the new authority is believed", func() bool {
		said, _, err := visit(asking, "server", client.IceClient())
		return err == nil && said == "client"
	})
}
