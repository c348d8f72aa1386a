package server

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"floe/transport/ice/proto"
)

func certificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// wsClient is the client's end of a WebSocket, as a stream. It cuts what it
// sends into frames of at most piece bytes.
type wsClient struct {
	net.Conn
	in    *bufio.Reader
	left  int
	piece int
	ops   []byte // of the control frames that came
}

const opening = "GET /any/path HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ice.zeroc.com\r\n\r\n"

func upgrade(t testing.TB, conn net.Conn, piece int) *wsClient {
	t.Helper()
	io.WriteString(conn, opening)
	in := bufio.NewReader(conn)
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The key and its answer are those of RFC 6455, section 1.3.
	if r.StatusCode != http.StatusSwitchingProtocols || r.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" ||
		r.Header.Get("Sec-WebSocket-Protocol") != "ice.zeroc.com" {
		t.Fatalf("got %v %v", r.Status, r.Header)
	}
	return &wsClient{Conn: conn, in: in, piece: piece}
}

func (w *wsClient) frame(first byte, payload []byte) {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	mask := []byte{1, 2, 3, 4}
	b = append(b, mask...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	w.Conn.Write(b)
}

func (w *wsClient) Write(p []byte) (int, error) {
	op := byte(wsBinary)
	for rest := p; len(rest) > 0; op = wsContinuation {
		n := min(w.piece, len(rest))
		w.frame(op, rest[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

func (w *wsClient) Read(p []byte) (int, error) {
	for w.left == 0 {
		h := make([]byte, 2)
		if _, err := io.ReadFull(w.in, h); err != nil {
			return 0, err
		}
		n := int(h[1])
		if n >= 126 {
			ext := make([]byte, 2<<((n-126)*2))
			io.ReadFull(w.in, ext)
			n = int(binary.BigEndian.Uint64(append(make([]byte, 8-len(ext)), ext...)))
		}
		if op := h[0] & 0x0f; op != wsBinary {
			w.ops = append(w.ops, op)
			io.CopyN(io.Discard, w.in, int64(n))
			continue
		}
		w.left = n
	}
	n, err := w.in.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

func TestTransports(t *testing.T) {
	cert := certificate(t)
	big := strings.Repeat("0123456789", 20_000)
	for _, tr := range []Transport{{Name: "ssl", TLS: cert}, {Name: "ws", WebSocket: true}, {Name: "wss", TLS: cert, WebSocket: true}} {
		for _, piece := range []int{1 << 20, 1000, 7} {
			t.Run(tr.Name, func(t *testing.T) {
				h := start(t, Config{}, tr)
				conn, err := net.Dial("tcp", h.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if tr.TLS != nil {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				}
				if tr.WebSocket {
					conn = upgrade(t, conn, piece)
				}
				p := validated(t, conn)
				for i, s := range []string{"", "short", big} {
					p.send(call(int32(i), "sink", "x", 0, nil))
					p.send(call(int32(i+10), "typed", "echo", 2, str(s)))
					if i > 0 {
						p.wantReply(int32(i))
					}
					r := p.wantReply(int32(i + 10))
					d, _ := proto.OpenEncapsulation(r.Encaps)
					if got := d.String(); got != s {
						t.Errorf("echo of %d bytes: got %d", len(s), len(got))
					}
				}
				go h.Drain(true)
				p.want(proto.MessageCloseConnection)
			})
		}
	}
}

func TestWebSocketControlFrames(t *testing.T) {
	h := start(t, Config{}, Transport{Name: "ws", WebSocket: true})
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	w := upgrade(t, conn, 1<<20)
	p := validated(t, w)
	w.frame(wsFinal|wsPing, []byte("are you there"))
	w.frame(wsFinal|wsPong, nil)
	p.ping(1)
	w.frame(wsFinal|wsClose, []byte{3, 0xe8})
	p.wantClosed()
	if !bytes.Equal(w.ops, []byte{wsPong, wsClose}) {
		t.Errorf("control frames %v", w.ops)
	}
	if n := h.Stats()[0].BadInput; n != 0 {
		t.Errorf("%d bad", n)
	}
}

func TestBadWebSockets(t *testing.T) {
	h := start(t, Config{FrameTimeout: 50 * time.Millisecond}, Transport{Name: "ws", WebSocket: true})
	replace := func(old, with string) string { return strings.Replace(opening, old, with, 1) }
	cases := []string{
		"IceP\x01\x00\x01\x00",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		replace("13", "8"),
		replace("ice.zeroc.com", "chat"),
		replace("GET", "POST"),
		replace("Sec-WebSocket-Key", "X"),
		"GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", 20_000),
		opening + "\x82\x01x",             // not masked
		opening + "\xf2\x81\x00\x00\x00x", // reserved bits
		opening + "\x81\x81\x00\x00\x00\x00x",
		opening + "\x89\xfe\x01\x00\x00\x00\x00\x00", // ping too long
		opening + "\x82\x83\x00\x00\x00\x00GET",      // no Ice, and stands still
	}
	for i, sent := range cases {
		conn, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(conn, sent)
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("case %d: stays open", i)
		}
		conn.Close()
		eventually(t, "the count", func() bool { return h.Stats()[0].BadInput == uint64(i+1) })
	}
}

func TestPlainClientOnTLS(t *testing.T) {
	h := start(t, Config{FrameTimeout: 50 * time.Millisecond}, Transport{Name: "ssl", TLS: certificate(t)})
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write(call(1, "sink", "x", 0, nil))
	eventually(t, "the count", func() bool { return h.Stats()[0].BadInput == 1 })
}

func FuzzWebSocket(f *testing.F) {
	f.Add([]byte("\x82\x83\x01\x02\x03\x04abc"))
	f.Add([]byte("\x82\xfe\x00\x03\x01\x02\x03\x04abc"))
	f.Add([]byte("\x89\x80\x01\x02\x03\x04\x88\x80\x01\x02\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := &wsConn{Conn: nowhere{}, in: bufio.NewReader(bytes.NewReader(b))}
		n, _ := io.Copy(io.Discard, w)
		if n > int64(len(b)) {
			t.Errorf("%d bytes out of %d", n, len(b))
		}
	})
}

// nowhere takes what is written.
type nowhere struct{ net.Conn }

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
