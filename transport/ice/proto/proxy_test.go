package proto

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testProxy() Proxy {
	p := NewProxy(Identity{"n", "c"},
		Endpoint{Type: EndpointTCP, Host: "h", Port: 1, Timeout: 5},
		Endpoint{Type: EndpointSSL, Host: "h", Port: 2, Timeout: Infinite, Compress: true},
		Endpoint{Type: EndpointUDP, Host: "h", Port: 3},
		Endpoint{Type: EndpointWS, Host: "h", Port: 4, Timeout: 5, Resource: "/x"},
		Endpoint{Type: EndpointWSS, Host: "", Port: 5, Timeout: 5, Resource: "/"},
		Endpoint{Type: 99, Raw: []byte("raw"), RawEncoding: Encoding10},
		Endpoint{Type: 8, Raw: []byte{}, RawEncoding: Version{3, 4}},
		Endpoint{Type: EndpointTCP, Raw: []byte("new"), RawEncoding: Version{1, 2}},
	)
	p.Facet, p.Mode, p.Secure = "f", BatchDatagram, true
	return p
}

func TestProxyRoundTrip(t *testing.T) {
	full := testProxy()
	full.Encoding = Encoding10
	indirect := Proxy{Identity: Identity{Name: "i"}, Protocol: Protocol10, Encoding: Encoding10, AdapterID: "a"}
	wellKnown := Proxy{Identity: Identity{Category: "c"}, Protocol: Protocol10, Encoding: Encoding10}
	for _, want := range []Proxy{full, indirect, wellKnown, {}} {
		for _, encoding := range []Version{Encoding10, Encoding11} {
			b := AppendProxy(nil, &want, encoding)
			d := NewDecoder(b, encoding)
			got := d.Proxy()
			if diff := cmp.Diff(want, got); d.Err() != nil || d.Left() != 0 || diff != "" {
				t.Errorf("%v in %v: %v, %d left (-want +got):\n%s", want.Identity, encoding, d.Err(), d.Left(), diff)
			}
			for n := range b {
				cut := NewDecoder(b[:n], encoding)
				if cut.Proxy(); cut.Err() == nil {
					t.Errorf("%v in %v: %d of %d bytes are accepted", want.Identity, encoding, n, len(b))
				}
			}
		}
	}
}

func TestProxyVersions(t *testing.T) {
	p := Proxy{Identity: Identity{Name: "i"}, Protocol: Version{1, 5}, Encoding: Version{2, 0}}
	if got, want := AppendProxy(nil, &p, Encoding11), "\x01i\x00\x00\x00\x00\x01\x05\x02\x00\x00\x00"; string(got) != want {
		t.Errorf("1.1: %x", got)
	}
	if got, want := AppendProxy(nil, &p, Encoding10), "\x01i\x00\x00\x00\x00\x00\x00"; string(got) != want {
		t.Errorf("1.0: %x", got)
	}
}

// The body of a udp endpoint has four more bytes in encoding 1.0.
func TestUDPEndpointBytes(t *testing.T) {
	e := Endpoint{Type: EndpointUDP, Host: "h", Port: 1}
	for version, want := range map[Version]string{
		Encoding10: "\x03\x00\x11\x00\x00\x00\x01\x00\x01h\x01\x00\x00\x00\x01\x00\x01\x00\x00",
		Encoding11: "\x03\x00\x0d\x00\x00\x00\x01\x01\x01h\x01\x00\x00\x00\x00",
	} {
		if got := AppendEndpoint(nil, &e, version); string(got) != want {
			t.Errorf("%v\n got %x\nwant %x", version, got, want)
		}
	}
}

func TestSubscribeVectorProxy(t *testing.T) {
	r := request(t, "subscribe-tz", 0)
	d, err := OpenEncapsulation(r.Encaps)
	if err != nil {
		t.Fatal(err)
	}
	d.StringDict()
	p := d.Proxy()
	const want = `sub/tz -o -e 1.1:tcp -h 127.0.0.1 -p 20999 -t 5000 -z:ws -h 127.0.0.1 -p 20996 -t 60000 -r /chat`
	if got := p.String(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if back, err := ParseProxy(p.String()); err != nil || cmp.Diff(p, back) != "" {
		t.Errorf("%s reads back as %s, %v", p.String(), back.String(), err)
	}
}

func TestProxyErrors(t *testing.T) {
	for name, text := range map[string]string{
		"mode 5":            "\x01i\x00\x00\x05\x00\x01\x00\x01\x01\x00\x00",
		"two facets":        "\x01i\x00\x02\x01a\x01b\x00\x00\x01\x00\x01\x01\x00\x00",
		"endpoints":         "\x01i\x00\x00\x00\x00\x01\x00\x01\x01\xff\x00\x00\x00\x40",
		"endpoint too long": "\x01i\x00\x00\x00\x00\x01\x00\x01\x01\x01\x01\x00\x07\x00\x00\x00\x01\x01",
		"tcp without port":  "\x01i\x00\x00\x00\x00\x01\x00\x01\x01\x01\x01\x00\x08\x00\x00\x00\x01\x01\x01h",
	} {
		d := NewDecoder([]byte(text), Encoding11)
		if p := d.Proxy(); d.Err() == nil || !p.IsNull() {
			t.Errorf("%s: %v, %v", name, p, d.Err())
		}
	}
}

func TestDecodedProxySharesNothing(t *testing.T) {
	want := testProxy()
	b := AppendProxy(nil, &want, Encoding11)
	d := NewDecoder(b, Encoding11)
	got := d.Proxy()
	copy(b, bytes.Repeat([]byte{0xee}, len(b)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
