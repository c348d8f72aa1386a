package proto

import (
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// bomb is bzip2 -9 of 45,000,000 zero bytes.
const bombHex = "425a6839314159265359c901b6c80158ab4020c00010000008200030cc0529a65248526c5492149e2ee48a70a12192036d90"

func compressed(size int32, stream []byte) []byte {
	return append(AppendInt32(nil, size), stream...)
}

func TestDecompress(t *testing.T) {
	body := readVector(t, "testdata/compressed-reply.txt")[2].bytes[HeaderSize:]
	plain, err := Decompress(body, DefaultMaxSize)
	if err != nil {
		t.Fatal(err)
	}
	var r Reply
	if err := ParseReply(plain, &r); err != nil || r.Status != StatusOK {
		t.Errorf("%+v, %v", r, err)
	}
	size, stream := int32(len(plain)+HeaderSize), body[4:]
	tests := []struct {
		name, reason string
		body         []byte
		max          int
	}{
		{"announces one byte less", "announced", compressed(size-1, stream), DefaultMaxSize},
		{"announces one byte more", "announced", compressed(size+1, stream), DefaultMaxSize},
		{"announces a header only", "uncompressed size 14", compressed(HeaderSize, stream), DefaultMaxSize},
		{"announces a negative size", "uncompressed size -5", compressed(-5, stream), DefaultMaxSize},
		{"over the limit", "limit", body, int(size) - 1},
		{"cut", "bzip2", body[:len(body)-5], DefaultMaxSize},
		{"without stream", "bzip2", body[:4], DefaultMaxSize},
		{"too short", "body of 3", body[:3], DefaultMaxSize},
	}
	for _, tt := range tests {
		_, err := Decompress(tt.body, tt.max)
		if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: %v, want a protocol error with %q", tt.name, err, tt.reason)
		}
		if got := errors.Is(err, ErrTooLarge); got != (tt.name == "over the limit") {
			t.Errorf("%s: too large is %v", tt.name, got)
		}
	}
	if _, err := Decompress(body, int(size)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func TestDecompressStopsBombs(t *testing.T) {
	bomb, err := hex.DecodeString(bombHex)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Decompress(compressed(DefaultMaxSize, bomb), DefaultMaxSize)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrProtocol) {
		t.Errorf("%v, want a protocol error", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 20<<20 {
		t.Errorf("took %d bytes for a limit of %d", got, DefaultMaxSize)
	}
}
