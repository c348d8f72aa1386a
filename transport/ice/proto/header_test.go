package proto

import (
	"errors"
	"strings"
	"testing"
)

func TestParseHeader(t *testing.T) {
	const limit = 1000
	tests := []struct {
		name, bytes string
		reason      string // "" for none
	}{
		{"request", "IceP\x01\x00\x01\x00\x00\x00\x0f\x00\x00\x00", ""},
		{"at the limit", "IceP\x01\x00\x01\x00\x00\x00\xe8\x03\x00\x00", ""},
		{"unknown compression", "IceP\x01\x00\x01\x00\x02\xff\x0f\x00\x00\x00", ""},
		{"over the limit", "IceP\x01\x00\x01\x00\x00\x00\xe9\x03\x00\x00", "size 1001"},
		{"negative size", "IceP\x01\x00\x01\x00\x00\x00\xff\xff\xff\xff", "size -1"},
		{"size 13", "IceP\x01\x00\x01\x00\x00\x00\x0d\x00\x00\x00", "size 13"},
		{"type 5", "IceP\x01\x00\x01\x00\x05\x00\x0e\x00\x00\x00", "type 5"},
		{"protocol 1.1", "IceP\x01\x01\x01\x00\x00\x00\x0e\x00\x00\x00", "protocol version 1.1"},
		{"encoding 1.1", "IceP\x01\x00\x01\x01\x00\x00\x0e\x00\x00\x00", "encoding version 1.1"},
		{"encoding 0.0", "IceP\x01\x00\x00\x00\x00\x00\x0e\x00\x00\x00", "encoding version 0.0"},
		{"http", "GET / HTTP/1.1\r\n", "not an Ice message"},
		{"short", "IceP\x01\x00\x01\x00\x00\x00\x0e\x00\x00", "header of 13"},
		{"nothing", "", "header of 0"},
	}
	for _, tt := range tests {
		h, err := ParseHeader([]byte(tt.bytes), limit)
		if tt.reason == "" {
			if err != nil || h.Type != MessageType(tt.bytes[8]) || h.Compression != tt.bytes[9] {
				t.Errorf("%s: %+v, %v", tt.name, h, err)
			}
			continue
		}
		if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: %v, want a protocol error with %q", tt.name, err, tt.reason)
		}
		if got := errors.Is(err, ErrTooLarge); got != (tt.name == "over the limit") {
			t.Errorf("%s: too large is %v", tt.name, got)
		}
	}
}

func TestPatchSizeCountsExtraBytes(t *testing.T) {
	b := AppendHeader([]byte("before"), Header{Type: MessageReply})
	h, err := ParseHeader(PatchSize(append(b, 1, 2), 6, 100)[6:], DefaultMaxSize)
	if err != nil || h.Size != HeaderSize+102 {
		t.Errorf("%+v, %v, want size %d", h, err, HeaderSize+102)
	}
}

func TestNames(t *testing.T) {
	if got := MessageBatchRequest.String() + " " + MessageType(9).String(); got != "BatchRequest MessageType(9)" {
		t.Error(got)
	}
	if got := StatusFacetNotExist.String() + " " + Status(8).String(); got != "FacetNotExist Status(8)" {
		t.Error(got)
	}
}
