package topics_test

import (
	"errors"
	"testing"

	"floe/topics"
)

func TestMessagesAreReadAsTheyArePrinted(t *testing.T) {
	for text, want := range map[string]topics.Messages{
		"0":                     {MType: 0, SubID: -1},
		"12050":                 {MType: 12050, SubID: -1},
		"12050/3":               {MType: 12050, SubID: 3},
		"2147483647/2147483647": {MType: 2147483647, SubID: 2147483647},
	} {
		got, err := topics.ParseMessages(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v (%v), %v, want %+v", text, got, got, err, want)
		}
		if id := got.Identity(); id != (topics.Identity{Name: text, Category: "rmr"}) {
			t.Errorf("%s: identity %+v", text, id)
		}
	}
	for _, text := range []string{"", "/", "-1", "1/", "/1", "1/-1", "1/2/3", " 1", "+1", "x", "2147483648", "1/2147483648"} {
		if got, err := topics.ParseMessages(text); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

// A link to messages is a link like others: one for each target, with a cost
// that can be replaced, in the digest, and gone with its topic.
func TestLinkToMessages(t *testing.T) {
	b := build(t).create("A", "B")
	empty := b.g.Digest()
	link := func(from, text string, cost int32, replace bool) error {
		m, err := topics.ParseMessages(text)
		if err != nil {
			t.Fatal(err)
		}
		g, _, err := b.g.LinkRemote(from, topics.ToMessages(m), cost, replace)
		b.g = g
		return err
	}
	for _, err := range []error{link("A", "7", 5, false), link("A", "7/1", 0, false), link("B", "7", 0, false), link("A", "7", -3, true)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := link("A", "7/1", 9, false); !errors.Is(err, topics.ErrLinkExists) || err.Error() != `"7/1": link exists` {
		t.Errorf("the same link again: %v", err)
	}
	if err := link("Z", "7", 0, false); !errors.Is(err, topics.ErrNoTopic) {
		t.Errorf("from nowhere: %v", err)
	}
	p := b.g.Plan(b.g.Topic("A").ID)
	if len(p.Hops) != 2 || p.Hops[0].Target != nil || *p.Hops[0].Link.Remote.Messages != (topics.Messages{MType: 7, SubID: -1}) || p.Hops[0].Link.Cost != -3 {
		t.Errorf("plan %+v", p.Hops)
	}
	foreign, messages := topics.Remote{Identity: topics.Identity{Name: "7", Category: "rmr"}}, topics.ToMessages(topics.Messages{MType: 7, SubID: -1})
	one, _, _ := build(t).create("A", "B").g.LinkRemote("A", foreign, 0, false)
	other, _, _ := build(t).create("A", "B").g.LinkRemote("A", messages, 0, false)
	if one.Digest() == other.Digest() || one.Digest() == empty {
		t.Error("unequal graphs have equal digests")
	}
	var all []topics.Topic
	for topic := range b.g.All() {
		all = append(all, *topic)
	}
	again, err := topics.Restore("IceStorm", b.g.Serial(), all)
	if err != nil || again.Digest() != b.g.Digest() {
		t.Errorf("restored: %v, digest %v, want %v", err, again.Digest(), b.g.Digest())
	}
	g, err := b.g.Unlink("A", topics.Identity{Name: "7", Category: "rmr"})
	if err != nil || len(g.Topic("A").Links) != 1 {
		t.Errorf("unlink: %v, %+v", err, g.Topic("A").Links)
	}
	if g, err = b.g.Destroy("A"); err == nil {
		g, err = g.Destroy("B")
	}
	if err != nil || g.Digest() != (topics.Digest{}) {
		t.Errorf("destroyed: %v, digest %v", err, g.Digest())
	}
}

// A target that contradicts itself would be told from others by one half and
// carried out by the other.
func TestMessagesAndTheirIdentityAgree(t *testing.T) {
	g := build(t).create("A").g
	for name, r := range map[string]topics.Remote{
		"other name":     {Identity: topics.Identity{Name: "8", Category: "rmr"}, Messages: &topics.Messages{MType: 7, SubID: -1}},
		"other category": {Identity: topics.Identity{Name: "7"}, Messages: &topics.Messages{MType: 7, SubID: -1}},
		"negative type":  topics.ToMessages(topics.Messages{MType: -7, SubID: -1}),
		"negative id":    topics.ToMessages(topics.Messages{MType: 7, SubID: -2}),
		"a topic, too":   {Identity: topics.Identity{Name: "7", Category: "rmr"}, Messages: &topics.Messages{MType: 7, SubID: -1}, Cluster: "c"},
	} {
		if _, _, err := g.LinkRemote("A", r, 0, false); !errors.Is(err, topics.ErrTarget) {
			t.Errorf("%s: got %v, want %v", name, err, topics.ErrTarget)
		}
		bad := topics.Topic{ID: 1, Name: "A", Links: []topics.Link{{Remote: &r, Serial: 2}}}
		if _, err := topics.Restore("IceStorm", 2, []topics.Topic{bad}); !errors.Is(err, topics.ErrTarget) {
			t.Errorf("%s: restored: %v", name, err)
		}
	}
}
