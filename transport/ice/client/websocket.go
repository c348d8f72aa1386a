package client

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// websocket is the client's end of a WebSocket connection (RFC 6455) that
// carries Ice messages as a stream of binary frames.
type websocket struct {
	net.Conn
	r *bufio.Reader

	// Of the frame being read:
	left   int64
	mask   [4]byte
	masked bool
	at     int

	write sync.Mutex // pongs are written by the reader
}

// Opcodes of frames.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
	finBit         = 0x80
	maskBit        = 0x80
	maxControl     = 125
)

// acceptGUID is the constant of RFC 6455, section 1.3.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// upgrade asks the server to speak WebSocket on the connection.
func upgrade(nc net.Conn, host, resource string) (*websocket, error) {
	var nonce [16]byte
	rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	if !strings.HasPrefix(resource, "/") {
		resource = "/" + resource
	}
	if strings.ContainsAny(resource, " \r\n") {
		return nil, fmt.Errorf("websocket: resource %q has blanks", resource)
	}
	request := "GET " + resource + " HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Protocol: ice.zeroc.com\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n\r\n"
	if _, err := io.WriteString(nc, request); err != nil {
		return nil, fmt.Errorf("websocket: %w", err)
	}
	w := &websocket{Conn: nc, r: bufio.NewReaderSize(nc, 2<<10)}
	return w, w.accepted(key)
}

// accepted reads the server's answer to the upgrade.
func (w *websocket) accepted(key string) error {
	const maxResponse = 16 << 10
	limited := bufio.NewReader(io.LimitReader(w.r, maxResponse))
	response, err := http.ReadResponse(limited, nil)
	if err != nil {
		return fmt.Errorf("websocket: answer to the upgrade: %w", err)
	}
	sum := sha1.Sum([]byte(key + acceptGUID))
	if response.StatusCode != http.StatusSwitchingProtocols ||
		response.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		return fmt.Errorf("websocket: upgrade refused: %s", response.Status)
	}
	rest, err := limited.Peek(limited.Buffered())
	if err != nil {
		return fmt.Errorf("websocket: %w", err)
	}
	w.r = bufio.NewReaderSize(io.MultiReader(strings.NewReader(string(rest)), w.r), 2<<10)
	return nil
}

// Read reads payload of binary frames.
func (w *websocket) Read(p []byte) (int, error) {
	for w.left == 0 {
		if err := w.nextFrame(); err != nil {
			return 0, err
		}
	}
	n, err := w.r.Read(p[:min(int64(len(p)), w.left)])
	w.unmask(p[:n])
	w.left -= int64(n)
	return n, err
}

func (w *websocket) unmask(p []byte) {
	if !w.masked {
		return
	}
	for i := range p {
		p[i] ^= w.mask[w.at&3]
		w.at++
	}
}

// nextFrame reads frame headers up to that of a data frame.
func (w *websocket) nextFrame() error {
	var head [2]byte
	if _, err := io.ReadFull(w.r, head[:]); err != nil {
		return err
	}
	op := head[0] & 0x0f
	size, err := w.frameSize(head[1])
	if err != nil {
		return err
	}
	w.masked, w.at = head[1]&maskBit != 0, 0
	if w.masked {
		if _, err := io.ReadFull(w.r, w.mask[:]); err != nil {
			return err
		}
	}
	switch op {
	case opContinuation, opBinary, opText:
		w.left = size
		return nil
	case opClose:
		return io.EOF
	}
	return w.control(op, size)
}

func (w *websocket) frameSize(second byte) (int64, error) {
	switch n := second &^ maskBit; n {
	case 126:
		var b [2]byte
		_, err := io.ReadFull(w.r, b[:])
		return int64(binary.BigEndian.Uint16(b[:])), err
	case 127:
		var b [8]byte
		_, err := io.ReadFull(w.r, b[:])
		return int64(binary.BigEndian.Uint64(b[:]) &^ (1 << 63)), err
	default:
		return int64(n), nil
	}
}

// control reads a control frame and answers a ping.
func (w *websocket) control(op byte, size int64) error {
	if size > maxControl {
		return fmt.Errorf("websocket: control frame of %d bytes", size)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(w.r, payload); err != nil {
		return err
	}
	w.unmask(payload)
	if op == opPing {
		_, err := w.frame(opPong, payload)
		return err
	}
	return nil
}

// Write sends p as one binary frame. Beside an error it returns how much of p
// left: the peer may have read whole messages in it.
func (w *websocket) Write(p []byte) (int, error) { return w.frame(opBinary, p) }

func (w *websocket) frame(op byte, payload []byte) (int, error) {
	b := make([]byte, 0, len(payload)+14)
	b = append(b, finBit|op)
	switch n := len(payload); {
	case n < 126:
		b = append(b, maskBit|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, maskBit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, maskBit|127), uint64(n))
	}
	var mask [4]byte
	rand.Read(mask[:])
	b = append(b, mask[:]...)
	head := len(b)
	for i, c := range payload {
		b = append(b, c^mask[i&3])
	}
	w.write.Lock()
	defer w.write.Unlock()
	n, err := w.Conn.Write(b)
	return max(0, n-head), err
}
