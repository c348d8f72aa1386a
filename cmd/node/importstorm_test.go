package main

import (
	"slices"
	"strings"
	"testing"

	"floe/transport/http/api"
	"floe/transport/ice/icestorm"
	"floe/transport/ice/proto"
)

// links are receivers of an IceStorm: SOURCE PROXY each.
func links(t *testing.T, texts ...string) *icestorm.Contents {
	t.Helper()
	c := &icestorm.Contents{Instance: "I"}
	for _, text := range texts {
		topic, proxy, _ := strings.Cut(text, " ")
		p, err := proto.ParseProxy(proxy)
		if err != nil {
			t.Fatal(err)
		}
		c.Receivers = append(c.Receivers, icestorm.Receiver{Topic: topic, Link: true, Proxy: p})
	}
	return c
}

func TestLinksToThisClusterAreLeftOut(t *testing.T) {
	own := iceAddresses([]api.Member{{Addresses: map[string][]string{
		"ice": {"tcp -h 10.0.0.1 -p 10000 -t 60000", "ws -h 10.0.0.1 -p 10001 -r /"}, "rmr": {"10.0.0.1:4560"},
	}}})
	for name, tt := range map[string]struct {
		links []string
		left  int
	}{
		"for the time of the move": {[]string{"A I/topic.A:tcp -h 10.0.0.1 -p 10000", "A I/topic.B:tcp -h 10.0.0.9 -p 10000"}, 1},
		"to itself":                {[]string{"A I/topic.A:tcp -h 10.0.0.9 -p 10000"}, 1},
		"of another instance":      {[]string{"A O/topic.A:tcp -h 10.0.0.1 -p 10000"}, 1},
		"at the same address":      {[]string{"A I/topic.A:tcp -h 10.0.0.1 -p 10000", "A I/topic.B:tcp -h 10.0.0.1 -p 10001"}, 2},
	} {
		c := links(t, tt.links...)
		if dropOwn(c, own); len(c.Receivers) != tt.left {
			t.Errorf("%s: %d left of %q", name, len(c.Receivers), tt.links)
		}
	}
}

func TestDatabaseOfAPropertiesFile(t *testing.T) {
	for text, want := range map[string]string{
		"IceStorm.LMDB.Path=/var/db\n":  "/var/db",
		"IceStorm.LMDB.Path=testdata\n": "testdata", // here
		"IceStorm.LMDB.Path=api\n":      "../../transport/http/api",
	} {
		p, err := icestorm.ParseProperties([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := databaseOf(&p, "../../transport/http/some.config"); err != nil || got != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func TestSharedEndpoints(t *testing.T) {
	c := links(t, "A I/topic.A:tcp -h h -p 1:tcp -h h -p 2", "A I/topic.A:ws -h h -p 2", "A I/topic.A:tcp -h i -p 1", "A I/topic.A")
	var got []bool
	for i := range c.Receivers {
		got = append(got, shareEndpoint(&c.Receivers[0].Proxy, &c.Receivers[i].Proxy))
	}
	if !slices.Equal(got, []bool{true, true, false, false}) {
		t.Errorf("got %v", got)
	}
}
