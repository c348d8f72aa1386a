package main

import (
	"encoding/hex"
	"io"
	"net"
	"testing"
)

// Laid out by hand after the Ice manual; a stock IceStorm answers it.
const recordedPing = "496365500100010000003a000000" + "01000000" + "0c546f7069634d616e61676572" + "0849636553746f726d" +
	"00" + "086963655f70696e67" + "01" + "00" + "060000000101"

func TestPingFrame(t *testing.T) {
	if got := hex.EncodeToString(pingFrame()); got != recordedPing {
		t.Errorf("got  %s\nwant %s", got, recordedPing)
	}
}

// answering serves one connection: it validates it, reads the ping, and answers with the bytes given.
func answering(t *testing.T, validate, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, validate)
		io.ReadFull(conn, make([]byte, len(recordedPing)/2))
		io.WriteString(conn, reply)
	}()
	return listener.Addr().String()
}

func TestPing(t *testing.T) {
	const (
		validate = "IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00"
		ok       = "IceP\x01\x00\x01\x00\x02\x00\x19\x00\x00\x00\x01\x00\x00\x00\x00\x06\x00\x00\x00\x01\x01"
		notThere = "IceP\x01\x00\x01\x00\x02\x00\x19\x00\x00\x00\x01\x00\x00\x00\x02\x06\x00\x00\x00\x01\x01"
	)
	tests := []struct {
		name, validate, reply string
		good                  bool
	}{
		{"answered", validate, ok, true},
		{"no such object", validate, notThere, false},
		{"cut", validate, ok[:20], false},
		{"not Ice", "SSH-2.0-OpenSSH_9.9\r\n", "", false},
		{"no reply but a huge frame", validate, "IceP\x01\x00\x01\x00\x02\x00\xff\xff\xff\x7f", false},
		{"a frame shorter than its header", validate, "IceP\x01\x00\x01\x00\x02\x00\x01\x00\x00\x00", false},
	}
	for _, tt := range tests {
		err := ping(t.Context(), answering(t, tt.validate, tt.reply))
		if (err == nil) != tt.good {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
