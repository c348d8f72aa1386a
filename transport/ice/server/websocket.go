package server

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Ice over WebSocket (RFC 6455): the byte stream of a connection in binary
// frames, whose borders mean nothing. Source of the subprotocol: Ice 3.7
// WSTransceiver.

const (
	wsProtocol     = "ice.zeroc.com"
	wsHeaderMax    = 16 << 10 // of the request that opens it, bytes
	wsKeySuffix    = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	wsContinuation = 0x0
	wsBinary       = 0x2
	wsClose        = 0x8
	wsPing         = 0x9
	wsPong         = 0xA
	wsFinal        = 0x80
)

var errWebSocket = errors.New("not a WebSocket frame we take")

// wsConn is the server's end of a WebSocket, as a stream.
type wsConn struct {
	net.Conn
	in   *bufio.Reader
	left uint64  // of the frame being read
	mask [4]byte // turned so that mask[0] is for the next byte

	mu  sync.Mutex
	out []byte
}

// acceptWebSocket reads the opening request and answers it. The caller sets
// the deadline.
func acceptWebSocket(c net.Conn) (net.Conn, error) {
	limit := &io.LimitedReader{R: c, N: wsHeaderMax}
	in := bufio.NewReader(limit)
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, fmt.Errorf("opening request: %w", err)
	}
	limit.N = math.MaxInt64
	if err := checkOpening(r); err != nil {
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n"+err.Error()+"\r\n")
		return nil, err
	}
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	if r.Header.Get("Sec-WebSocket-Protocol") != "" {
		answer += "Sec-WebSocket-Protocol: " + wsProtocol + "\r\n"
	}
	answer += "Sec-WebSocket-Accept: " + acceptKey(r.Header.Get("Sec-WebSocket-Key")) + "\r\n\r\n"
	if _, err := io.WriteString(c, answer); err != nil {
		return nil, err
	}
	return &wsConn{Conn: c, in: in}, nil
}

func checkOpening(r *http.Request) error {
	h := r.Header
	switch {
	case r.Method != http.MethodGet || !hasToken(h, "Upgrade", "websocket") || !hasToken(h, "Connection", "upgrade"):
		return errors.New("no upgrade to websocket asked for")
	case h.Get("Sec-WebSocket-Version") != "13":
		return errors.New("WebSocket version is not 13")
	case h.Get("Sec-WebSocket-Key") == "":
		return errors.New("no Sec-WebSocket-Key")
	case h.Get("Sec-WebSocket-Protocol") != "" && !hasToken(h, "Sec-WebSocket-Protocol", wsProtocol):
		return errors.New("WebSocket protocol is not " + wsProtocol)
	}
	return nil
}

func hasToken(h http.Header, key, token string) bool {
	for _, line := range h.Values(key) {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + wsKeySuffix))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Read returns the payload of data frames. After a deadline it goes on where it was.
func (w *wsConn) Read(p []byte) (int, error) {
	for w.left == 0 {
		if err := w.nextFrame(); err != nil {
			return 0, err
		}
	}
	n, err := w.in.Read(p[:min(uint64(len(p)), w.left)])
	for i := range n {
		p[i] ^= w.mask[i%4]
	}
	w.turnMask(n)
	w.left -= uint64(n)
	return n, err
}

func (w *wsConn) turnMask(n int) {
	old := w.mask
	for i := range w.mask {
		w.mask[i] = old[(i+n)%4]
	}
}

// nextFrame reads a frame's header, and the whole of a control frame. Nothing
// is taken before all of it is there, so that it can be called again.
func (w *wsConn) nextFrame() error {
	h, err := w.in.Peek(2)
	if err != nil {
		return err
	}
	op, size, header := h[0]&0x0f, uint64(h[1]&0x7f), 2
	if h[0]&0x70 != 0 || h[1]&0x80 == 0 {
		return fmt.Errorf("%w: reserved bits, or not masked", errWebSocket)
	}
	if size >= 126 {
		header += 2 << ((size - 126) * 2)
	}
	h, err = w.in.Peek(header + 4)
	if err != nil {
		return err
	}
	switch header {
	case 4:
		size = uint64(binary.BigEndian.Uint16(h[2:]))
	case 10:
		size = binary.BigEndian.Uint64(h[2:])
	}
	switch op {
	case wsBinary, wsContinuation:
		copy(w.mask[:], h[header:])
		w.left = size
		w.in.Discard(header + 4)
		return nil
	case wsClose, wsPing, wsPong:
		return w.control(op, int(min(size, 126)), header+4)
	}
	return fmt.Errorf("%w: opcode %d", errWebSocket, op)
}

// control answers a ping or a close.
func (w *wsConn) control(op byte, size, header int) error {
	if size > 125 {
		return fmt.Errorf("%w: control frame too long", errWebSocket)
	}
	frame, err := w.in.Peek(header + size)
	if err != nil {
		return err
	}
	mask, payload := frame[header-4:header], make([]byte, size)
	for i := range payload {
		payload[i] = frame[header+i] ^ mask[i%4]
	}
	w.in.Discard(header + size)
	switch op {
	case wsPing:
		return w.writeFrame(wsPong, payload)
	case wsClose:
		w.writeFrame(wsClose, payload[:min(2, size)])
		return io.EOF
	}
	return nil
}

// Write sends one binary frame.
func (w *wsConn) Write(p []byte) (int, error) {
	if err := w.writeFrame(wsBinary, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *wsConn) writeFrame(op byte, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = append(w.out[:0], wsFinal|op)
	switch {
	case len(p) < 126:
		w.out = append(w.out, byte(len(p)))
	case len(p) <= math.MaxUint16:
		w.out = binary.BigEndian.AppendUint16(append(w.out, 126), uint16(len(p)))
	default:
		w.out = binary.BigEndian.AppendUint64(append(w.out, 127), uint64(len(p)))
	}
	w.out = append(w.out, p...)
	_, err := w.Conn.Write(w.out)
	if cap(w.out) > keepReplies {
		w.out = nil
	}
	return err
}
