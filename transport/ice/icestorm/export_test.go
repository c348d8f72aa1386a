package icestorm

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/transport/ice/proto"
)

// odd is testdata/odd.export, written by icestormdb 3.7.8 from the database of
// an IceStorm 3.7.8 with ten topics, four links and eight subscribers.
func odd(t testing.TB) []byte {
	b, err := os.ReadFile("testdata/odd.export")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExportOfARealDatabase(t *testing.T) {
	c, err := ParseExport(odd(t), "")
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"", `"quoted"\`, "a/b", "clock", "grüße 漢", "new\nline", "tab\t", strings.Repeat("x", 255), strings.Repeat("y", 254)}
	if diff := cmp.Diff(c.Topics, wanted); diff != "" || c.Instance != "IceStorm" {
		t.Errorf("instance %q, topics (-got +want):\n%s", c.Instance, diff)
	}
	var got []string
	for _, r := range c.Receivers {
		line := r.Topic + " " + r.Proxy.String()
		if r.Link {
			line = r.Topic + " to " + r.Proxy.Identity.Name + " " + string(rune('0'+r.Cost%10))
		}
		for k, v := range r.QoS {
			line += " " + k + "=" + v
		}
		got = append(got, line)
	}
	const at = ":tcp -h 127.0.0.1 -p 9 -t 5000 -z:ws -h h -p 8 -t 60000 -r /x"
	for _, want := range []string{
		" odd -t -e 1.0 @ adapter reliability=ordered",
		" wellknown -t -e 1.1",
		"a/b op -t -e 1.0:opaque -t 99 -e 1.1 -v AAECAw==",
		"clock cat/s0 -f fac -t -e 1.1" + at,
		"clock cat/s3 -f fac -d -e 1.1:udp -h 127.0.0.1 -p 1",
		"clock to topic. 0",
		"clock to topic.clock 7",
		"new\nline to topic.grüße 漢 7",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no receiver %q", want)
		}
	}
	i := slices.IndexFunc(c.Receivers, func(r Receiver) bool { return r.Proxy.Identity.Name == "topic.a/b" })
	if len(got) != 12 || c.Receivers[i].Cost != -5 {
		t.Errorf("got %d receivers: %q", len(got), got)
	}
	if len(c.Left) != 1 || !strings.HasPrefix(c.Left[0], `topic "yyy`) {
		t.Errorf("left: %q", c.Left)
	}
}

func TestExportOfAnotherInstance(t *testing.T) {
	c, err := ParseExport(odd(t), "Other")
	if err != nil || len(c.Topics)+len(c.Receivers) != 0 || len(c.Left) != 22 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestBrokenExports(t *testing.T) {
	whole := odd(t)
	for n := range whole {
		if c, err := ParseExport(whole[:n], ""); err == nil {
			t.Fatalf("the first %d bytes are taken for a whole export: %+v", n, c)
		}
	}
	if _, err := ParseExport(append(slices.Clone(whole), 0), ""); err == nil {
		t.Error("a byte more is not noticed")
	}
	two := slices.Clone(whole)
	two[strings.Index(string(two), "\x08IceStorm\x03odd")+1] = 'X'
	if _, err := ParseExport(two, ""); err == nil || !strings.Contains(err.Error(), "--instance") {
		t.Errorf("two instances: %v", err)
	}
}

func FuzzParseExport(f *testing.F) {
	f.Add(odd(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseExport(b, "")
		if err != nil {
			return
		}
		for _, r := range c.Receivers {
			d := proto.NewDecoder(proto.AppendProxy(nil, &r.Proxy, proto.Encoding11), proto.Encoding11)
			if again := d.Proxy(); d.Err() != nil || again.String() != r.Proxy.String() {
				t.Errorf("%v became %v: %v", r.Proxy, again, d.Err())
			}
		}
	})
}

// A link to a topic that is gone is left out, and said.
func TestLinkToADestroyedTopic(t *testing.T) {
	c := Contents{Instance: "I", Topics: []string{"A"}, Receivers: []Receiver{
		{Topic: "A", Link: true, Proxy: proto.NewProxy(proto.Identity{Name: "topic.gone", Category: "I"})},
		{Topic: "A", Link: true, Proxy: proto.NewProxy(proto.Identity{Name: "topic.gone", Category: "Other"})},
		{Topic: "B", Proxy: proto.NewProxy(proto.Identity{Name: "s"})},
		{Topic: "A", Proxy: proto.NewProxy(proto.Identity{Name: "s"}), QoS: map[string]string{"k": "\xff"}},
		{Topic: "A"},
	}}
	c.settle()
	if len(c.Receivers) != 1 || len(c.Left) != 4 {
		t.Errorf("got %+v, left %q", c.Receivers, c.Left)
	}
}
