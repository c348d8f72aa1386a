package icestorm

import (
	"strings"
	"testing"
)

func TestProperties(t *testing.T) {
	p, err := ParseProperties([]byte("\ufeff# a comment\r\n" +
		"IceBox.Service.Storm=IceStormService,37:createIceStorm --Ice.Config=storm.conf --Storm.Flush.Timeout=50\n" +
		"  Storm.InstanceName =  Demo  # theirs\n" +
		"Storm.A\\=B = x\\#y\\\\z = w\\ \n" +
		"Storm.Send.QueueSizeMax=5\nStorm.Send.QueueSizeMax=\n" +
		"Other.Thing=1\nStormy.Thing=2\n\n   \nflag\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"InstanceName": "Demo", "Flush.Timeout": "50", "A=B": `x#y\z = w `, "Send.QueueSizeMax": "", "none": ""} {
		if got := p.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if p.Service != "Storm" || p.Elsewhere != "storm.conf" || p.Instance() != "Demo" || p.Global("Other.Thing") != "1" {
		t.Errorf("got %+v", p)
	}
	if got := strings.Join(p.Own(), " "); got != "A=B Flush.Timeout InstanceName Send.QueueSizeMax" {
		t.Errorf("own: %s", got)
	}
}

func TestPropertiesOfAServiceAlone(t *testing.T) {
	p, err := ParseProperties([]byte("Weather.TopicManager.Endpoints=tcp -p 10000\n"))
	if err != nil || p.Service != "Weather" || p.Instance() != "IceStorm" {
		t.Errorf("got %+v, %v", p, err)
	}
	p, err = ParseProperties(nil)
	if err != nil || p.Service != "IceStorm" {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestBrokenProperties(t *testing.T) {
	for _, text := range []string{"=x\n", "a=b\n # fine\n = y", "a=\xff", strings.Repeat("#", maxProperties+1)} {
		if p, err := ParseProperties([]byte(text)); err == nil {
			t.Errorf("%.20q: got %+v", text, p)
		}
	}
}
