package client

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// wrapped is a listener whose connections are made something else.
type wrapped struct {
	net.Listener
	wrap func(net.Conn) (net.Conn, error)
}

func (w wrapped) Accept() (net.Conn, error) {
	for {
		nc, err := w.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if better, err := w.wrap(nc); err == nil {
			return better, nil
		}
		nc.Close()
	}
}

// acceptWebSocket is the server's side of the upgrade.
func acceptWebSocket(nc net.Conn) (net.Conn, error) {
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(nc)
	request, err := http.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	if request.Header.Get("Sec-WebSocket-Protocol") != "ice.zeroc.com" || request.URL.Path != "/chat" {
		return nil, fmt.Errorf("unexpected request for %s", request.URL)
	}
	sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + acceptGUID))
	fmt.Fprintf(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Protocol: ice.zeroc.com\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	nc.SetDeadline(time.Time{})
	return &websocket{Conn: nc, r: r}, nil
}

// certificate makes one for 127.0.0.1, signed by itself.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestOtherTransports(t *testing.T) {
	cert, pool := certificate(t)
	secure := func(nc net.Conn) (net.Conn, error) {
		nc = tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{cert}})
		return nc, nc.(*tls.Conn).Handshake()
	}
	tests := []struct {
		kind proto.EndpointType
		wrap func(net.Conn) (net.Conn, error)
	}{
		{proto.EndpointSSL, secure},
		{proto.EndpointWS, acceptWebSocket},
		{proto.EndpointWSS, func(nc net.Conn) (net.Conn, error) {
			nc, err := secure(nc)
			if err != nil {
				return nil, err
			}
			return acceptWebSocket(nc)
		}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.kind), func(t *testing.T) {
			s := serverOn(t, func(l net.Listener) net.Listener { return wrapped{l, test.wrap} })
			endpoint := s.endpoint()
			endpoint.Type, endpoint.Resource = test.kind, "/chat"
			st := newStand(t, Config{TLS: func() *tls.Config { return &tls.Config{RootCAs: pool} }}, delivery.Config{})
			st.group.subscribe("s", proxyTo(proto.Twoway, endpoint))
			st.publish(names(100)...)
			ev, err := delivery.NewEvent(proto.AppendTail(nil, strings.Repeat("x", 100_000), 0, nil, proto.AppendEmptyEncapsulation(nil, proto.Encoding11)))
			if err != nil {
				t.Fatal(err)
			}
			st.Topic("a").Publish(ev, nil)
			eventually(t, "101 arrive", func() bool { return st.receiver().Delivered == 101 })
		})
	}
}

func TestSSLWithoutCertificates(t *testing.T) {
	s := newServer(t)
	endpoint := s.endpoint()
	endpoint.Type = proto.EndpointSSL
	_, err := newClient(t, Config{}).ping(t.Context(), endpoint)
	if err == nil || !strings.Contains(err.Error(), "no certificates configured") {
		t.Errorf("got %v", err)
	}
}

// nullConn reads from one buffer and writes to another.
type nullConn struct {
	net.Conn
	in  io.Reader
	out *bytes.Buffer
}

func (n nullConn) Read(p []byte) (int, error)  { return n.in.Read(p) }
func (n nullConn) Write(p []byte) (int, error) { return n.out.Write(p) }

// TestWebSocketFrames uses the frames of RFC 6455, section 5.7.
func TestWebSocketFrames(t *testing.T) {
	frames := []byte{
		0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f, // unmasked
		0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58, // masked
		0x01, 0x03, 0x48, 0x65, 0x6c, 0x89, 0x02, 'h', 'i', 0x80, 0x02, 0x6c, 0x6f, // in two parts, a ping between
		0x88, 0x00,
	}
	out := new(bytes.Buffer)
	w := &websocket{Conn: nullConn{out: out}, r: bufio.NewReader(bytes.NewReader(frames))}
	got, err := io.ReadAll(w)
	if err != nil || string(got) != "HelloHelloHello" {
		t.Errorf("got %q, %v", got, err)
	}
	pong := out.Bytes()
	if len(pong) != 8 || pong[0] != 0x8a || pong[1] != 0x82 || pong[6]^pong[2] != 'h' || pong[7]^pong[3] != 'i' {
		t.Errorf("got pong % x", pong)
	}
}

// shortConn takes so many bytes and no more.
type shortConn struct {
	net.Conn
	room int
}

func (s shortConn) Write(p []byte) (int, error) {
	if len(p) <= s.room {
		return len(p), nil
	}
	return s.room, io.ErrShortWrite
}

func TestWebSocketSaysHowMuchLeft(t *testing.T) {
	tests := []struct{ room, want int }{{0, 0}, {6, 0}, {8, 2}, {16, 10}}
	for _, test := range tests {
		w := &websocket{Conn: shortConn{room: test.room}}
		if got, _ := w.Write(make([]byte, 10)); got != test.want {
			t.Errorf("room for %d: got %d, want %d", test.room, got, test.want)
		}
	}
}

func TestWebSocketRefused(t *testing.T) {
	answers := []string{
		"HTTP/1.1 404 Not Found\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
		"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00",
		"",
	}
	for _, answer := range answers {
		if _, err := upgrade(nullConn{in: strings.NewReader(answer), out: new(bytes.Buffer)}, "h:1", "/"); err == nil {
			t.Errorf("answer %q was accepted", answer)
		}
	}
}

// FuzzWebSocket reads frames from anybody.
func FuzzWebSocket(f *testing.F) {
	f.Add([]byte{0x82, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0x82, 0x7e, 0x00, 0x01, 'x', 0x89, 0x7d})
	f.Add([]byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58})
	f.Fuzz(func(t *testing.T, frames []byte) {
		w := &websocket{Conn: nullConn{out: new(bytes.Buffer)}, r: bufio.NewReader(bytes.NewReader(frames))}
		got, _ := io.ReadAll(w)
		if len(got) > len(frames) {
			t.Errorf("%d bytes out of %d", len(got), len(frames))
		}
	})
}
