package proto

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seedBodies adds the bodies of all captured messages of one type.
func seedBodies(f *testing.F, kind MessageType) {
	for _, list := range vectors(f) {
		for _, m := range list {
			if len(m.bytes) >= HeaderSize && MessageType(m.bytes[8]) == kind {
				f.Add(m.bytes[HeaderSize:])
			}
		}
	}
}

// seedEncapsulations adds the parameters and results of all captures.
func seedEncapsulations(f *testing.F) {
	var request Request
	var reply Reply
	for _, list := range vectors(f) {
		for _, m := range list {
			if len(m.bytes) < HeaderSize {
				continue
			}
			if ParseRequest(m.bytes[HeaderSize:], &request) == nil {
				f.Add(request.Encaps)
			}
			if ParseReply(m.bytes[HeaderSize:], &reply) == nil {
				f.Add(reply.Encaps)
			}
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, list := range vectors(f) {
		for _, m := range list {
			f.Add(m.bytes)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b, DefaultMaxSize)
		if err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Fatal(err)
			}
			return
		}
		if h.Size < HeaderSize || h.Size > DefaultMaxSize {
			t.Fatalf("size %d", h.Size)
		}
		if got := AppendHeader(nil, h); !bytes.Equal(got, b[:HeaderSize]) {
			t.Fatalf("%x encoded as %x", b[:HeaderSize], got)
		}
	})
}

func FuzzDecompress(f *testing.F) {
	seedBodies(f, MessageRequest)
	seedBodies(f, MessageReply)
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 4096
		plain, err := Decompress(body, limit)
		if err != nil && !errors.Is(err, ErrProtocol) || len(plain) > limit-HeaderSize {
			t.Fatalf("%d bytes, %v", len(plain), err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	seedBodies(f, MessageRequest)
	f.Fuzz(func(t *testing.T, body []byte) {
		var r Request
		err := ParseRequest(body, &r)
		if err != nil {
			if errors.Is(err, ErrProtocol) == errors.Is(err, ErrEncapsulation) {
				t.Fatal(err)
			}
			return
		}
		checkRequest(t, &r)
	})
}

// checkRequest encodes r and compares what is read back.
func checkRequest(t *testing.T, r *Request) {
	t.Helper()
	entries := 0
	for k, v := range r.Context.All() {
		if first, ok := r.Context.Lookup(string(k)); !ok || (entries == 0 && !bytes.Equal(first, v)) {
			t.Fatalf("context key %q is %q", k, first)
		}
		if entries++; entries > 3 {
			break
		}
	}
	message := AppendRequest(nil, r)
	var again Request
	if err := ParseRequest(message[HeaderSize:], &again); err != nil {
		t.Fatal(err)
	}
	if again.ID != r.ID || again.Identity != r.Identity || again.Facet != r.Facet || again.Mode != r.Mode ||
		!bytes.Equal(again.Operation, r.Operation) || !bytes.Equal(again.Context, r.Context) || !bytes.Equal(again.Encaps, r.Encaps) {
		t.Fatalf("%+v became %+v", r, again)
	}
	direct := append(AppendRequestPrefix(nil, r.ID, again.Target, len(again.Tail)), again.Tail...)
	if !bytes.Equal(direct, message) {
		t.Fatalf("prefix and tail %x, want %x", direct, message)
	}
	e, err := ParseTail(r.Tail)
	if err != nil || !reflect.DeepEqual(e, EventOf(r)) {
		t.Fatalf("tail %x: %+v, %v", r.Tail, e, err)
	}
}

func FuzzBatch(f *testing.F) {
	seedBodies(f, MessageBatchRequest)
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := ParseBatch(body)
		if err != nil {
			return
		}
		var r Request
		for n := 0; b.Next(&r); n++ {
			if n > len(body) {
				t.Fatal("more entries than bytes")
			}
			checkRequest(t, &r)
		}
		if b.Err() != nil && !errors.Is(b.Err(), ErrProtocol) {
			t.Fatal(b.Err())
		}
	})
}

func FuzzReply(f *testing.F) {
	seedBodies(f, MessageReply)
	f.Fuzz(func(t *testing.T, body []byte) {
		var r, again Reply
		if err := ParseReply(body, &r); err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Fatal(err)
			}
			return
		}
		if err := ParseReply(AppendReply(nil, &r)[HeaderSize:], &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatal(diff)
		}
		if (r.Err() == nil) != (r.Status == StatusOK) {
			t.Fatalf("%v: %v", r.Status, r.Err())
		}
	})
}

func FuzzProxy(f *testing.F) {
	p := testProxy()
	for _, encoding := range []Version{Encoding10, Encoding11} {
		f.Add(AppendProxy(nil, &p, encoding), encoding.Minor)
	}
	for _, tt := range proxyStrings {
		if p, err := ParseProxy(tt.text); err == nil {
			f.Add(AppendProxy(nil, &p, Encoding11), byte(1))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, minor byte) {
		encoding := Version{1, minor & 1}
		d := NewDecoder(b, encoding)
		p := d.Proxy()
		if d.Err() != nil {
			return
		}
		if 8*len(p.Endpoints) > len(b) {
			t.Fatalf("%d endpoints of %d bytes", len(p.Endpoints), len(b))
		}
		d = NewDecoder(AppendProxy(nil, &p, encoding), encoding)
		again := d.Proxy()
		if diff := cmp.Diff(p, again); diff != "" || d.Err() != nil || d.Left() != 0 {
			t.Fatalf("%v %s", d.Err(), diff)
		}
		_ = p.String()
	})
}

func FuzzParameters(f *testing.F) {
	seedEncapsulations(f)
	f.Fuzz(func(t *testing.T, encaps []byte) {
		for key, code := range codecs {
			d, err := OpenEncapsulation(encaps)
			if err != nil {
				return
			}
			out := code(&d, nil, d.Encoding())
			if d.Finish() != nil {
				continue
			}
			again := NewDecoder(out, d.Encoding())
			if got := code(&again, nil, d.Encoding()); again.Finish() != nil || !bytes.Equal(got, out) {
				t.Fatalf("%s: %x became %x, %v", key, out, got, again.Err())
			}
		}
		if e, err := ParseUserException(encaps); err == nil && len(e.Members)+len(e.TypeID) > len(encaps) {
			t.Fatalf("%+v of %d bytes", e, len(encaps))
		}
	})
}

func FuzzForward(f *testing.F) {
	seedEncapsulations(f)
	f.Fuzz(func(t *testing.T, encaps []byte) {
		var list []Event
		if ForEachEvent(encaps, func(e Event) { list = append(list, e) }) != nil {
			if len(list) > 0 {
				t.Fatal("delivers from a broken sequence")
			}
			return
		}
		message := AppendForward(nil, 1, []byte("\x00\x00\x00"), nil, list)
		var r Request
		if err := ParseRequest(message[HeaderSize:], &r); err != nil {
			t.Fatal(err)
		}
		var again []Event
		if err := ForEachEvent(r.Encaps, func(e Event) { again = append(again, e) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzProxyString(f *testing.F) {
	for _, tt := range proxyStrings {
		f.Add(tt.text)
	}
	for _, tt := range badProxyStrings {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProxy(s)
		if err != nil || !printable(&p) {
			return
		}
		again, err := ParseProxy(p.String())
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Fatalf("%q prints as %q: %v\n%s", s, p.String(), err, diff)
		}
	})
}

// printable is false for arguments that no endpoint string can hold.
func printable(p *Proxy) bool {
	for _, e := range p.Endpoints {
		for _, s := range []string{e.Host, e.Resource, e.SourceAddress, e.Interface} {
			if strings.ContainsAny(s, `"'\`) || strings.HasPrefix(s, "-") || s == "*" {
				return false
			}
		}
		if e.Type.websocket() && e.Resource == "" || e.Opaque() && len(e.Raw) == 0 {
			return false
		}
		if !e.Opaque() && (e.Port < 0 || e.Port > 65535 || e.Timeout < 1 && e.Timeout != Infinite && e.Type != EndpointUDP) {
			return false // out of an opaque endpoint, not checked
		}
	}
	return true
}

func FuzzIdentity(f *testing.F) {
	for _, s := range []string{"a", "c/n", `a\/b/c`, `\u00e9\x41\101\q\`, "a\x01", `\U0001F600`, "é/ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseIdentity(s); err == nil {
			if again, err := ParseIdentity(id.String()); err != nil || again != id {
				t.Fatalf("%q: %+v became %+v, %v", s, id, again, err)
			}
		}
		half := len(s) / 2
		id := Identity{Name: s[:half], Category: s[half:]}
		if again, err := ParseIdentity(id.String()); err != nil || again != id {
			t.Fatalf("%+v prints as %q: %+v, %v", id, id.String(), again, err)
		}
	})
}
