package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func iceFlags(t *testing.T, text string, args ...string) (*pflag.FlagSet, []iceNote, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "icestorm.config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("start", pflag.ContinueOnError)
	startFlags(flags)
	if err := flags.Parse(append(args, "--ice-config", path)); err != nil {
		t.Fatal(err)
	}
	notes, err := useIceConfig(flags)
	return flags, notes, err
}

func TestIceConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		flags string   // NAME=VALUE after it
		notes []string // properties
	}{
		"a service alone": {
			text: "# service properties\nIceStorm.InstanceName=DemoIceStorm\nIceStorm.TopicManager.Endpoints=default -h localhost -p 9999\n" +
				"IceStorm.Publish.Endpoints=tcp -h localhost -p 10000:udp -h localhost -p 10000\n" +
				"IceStorm.Trace.TopicManager=2\nIceStorm.Trace.Topic=1\nIceStorm.Flush.Timeout=2000\nIceStorm.LMDB.Path=db\n#Ice.Trace.Network=3\n",
			flags: "ice-instance=DemoIceStorm ice=:9999,:10000 ice-published=localhost flush-interval=2s",
			notes: []string{"IceStorm.LMDB.Path", "IceStorm.Trace.Topic", "IceStorm.Trace.TopicManager"},
		},
		"a replica behind IceBox": {
			text: "IceBox.Service.Weather=IceStormService,37:createIceStorm\nWeather.InstanceName=W\n" +
				"Weather.TopicManager.Endpoints=tcp -h 10.0.0.1 -p 1\nWeather.Publish.Endpoints=tcp -h 10.0.0.1 -p 2:ws -h 10.0.0.1 -p 3\n" +
				"Weather.Publish.PublishedEndpoints=tcp -h out.example -p 2\nWeather.NodeId=0\nWeather.Nodes.0=W/node0:tcp -p 4\nWeather.Node.Endpoints=tcp -p 4\n" +
				"Weather.ReplicatedPublishEndpoints=tcp -p 2\nWeather.Election.MasterTimeout=1\nIceStorm.Flush.Timeout=5\n",
			flags: "ice-instance=W ice=10.0.0.1:1,10.0.0.1:2 ice-ws=10.0.0.1:3 flush-interval=1s",
			notes: []string{"Weather.Election.MasterTimeout", "Weather.Node.Endpoints", "Weather.NodeId", "Weather.Nodes.0", "Weather.ReplicatedPublishEndpoints"},
		},
		"times and queues": {
			text:  "IceStorm.Discard.Interval=5\nIceStorm.Send.Timeout=1500\nIceStorm.Send.QueueSizeMax=7\nIce.MessageSizeMax=2048\nIce.Default.Locator=IceGrid/Locator:tcp -h h -p 4061\nIceStorm.TopicManager.AdapterId=TM\nIceStorm.TopicManager.ReplicaGroupId=G\n",
			flags: "discard-interval=5s send-timeout=1.5s queue-events=7 queue-policy=remove-subscriber message-size-max=2048KiB ice-adapter-id=TM/G",
		},
		"drop events": {text: "IceStorm.Send.QueueSizeMax=7\nIceStorm.Send.QueueSizeMaxPolicy=DropEvents\n", flags: "queue-events=7 queue-policy=drop-oldest"},
		"what floe can't": {
			text:  "IceStorm.Send.Timeout=-1\nIceStorm.Send.QueueSizeMax=-1\nIceStorm.Send.QueueSizeMaxPolicy=Sometimes\nIceStorm.Transient=1\nIceStorm.Flush.Timeout=soon\nIceStorm.Publish.Endpoints=tcp\n",
			flags: "send-timeout=1m queue-events=10000 queue-policy=drop-oldest flush-interval=1s ice=:10000",
			notes: []string{"IceStorm.Flush.Timeout", "IceStorm.Send.Timeout", "IceStorm.Transient", "IceStorm.Publish.Endpoints", "IceStorm.Send.QueueSizeMax", "IceStorm.Send.QueueSizeMaxPolicy"},
		},
		"unknown ones":   {text: "IceStorm.Flush.Timeou=5\nIceStorm.Publish.ThreadPool.Size=4\nIce.Warn.Connections=1\n", notes: []string{"IceStorm.Flush.Timeou", "IceStorm.Publish.ThreadPool.Size"}},
		"ssl alone":      {text: "IceStorm.TopicManager.Endpoints=ssl -p 9\nIceStorm.Publish.Endpoints=wss -p 8 -r /\n", flags: "ice=off ice-ssl=:9 ice-wss=:8"},
		"every address":  {text: "IceStorm.TopicManager.Endpoints=tcp -h * -p 9\n", flags: "ice=:9"},
		"a default host": {text: "Ice.Default.Host=127.0.0.7\nIceStorm.TopicManager.Endpoints=tcp -p 9\n", flags: "ice=127.0.0.7:9"},
	} {
		flags, notes, err := iceFlags(t, tt.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range strings.Fields(tt.flags) {
			flag, value, _ := strings.Cut(want, "=")
			if got := flags.Lookup(flag).Value.String(); got != value {
				t.Errorf("%s: --%s is %q, want %q", name, flag, got, value)
			}
		}
		var about []string
		for _, n := range notes {
			about = append(about, n.property)
		}
		if got := strings.Join(about, " "); got != strings.Join(tt.notes, " ") {
			t.Errorf("%s: notes about %q, want %q", name, about, tt.notes)
		}
	}
}

// What a person gave counts more.
func TestIceConfigIsLast(t *testing.T) {
	flags, _, err := iceFlags(t, "IceStorm.Flush.Timeout=50\nIceStorm.InstanceName=X\n", "--flush-interval", "3s")
	if err != nil || flags.Lookup("flush-interval").Value.String() != "3s" || flags.Lookup("ice-instance").Value.String() != "X" {
		t.Errorf("got %s, %v", flags.Lookup("flush-interval").Value, err)
	}
}

func TestIceConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"=x\n": "line 1",
		"IceBox.Service.IceStorm=IceStormService,37:createIceStorm --Ice.Config=storm.conf\n": "storm.conf: give that file",
		"IceStorm.Publish.Endpoints=tcp -x\n":                                                 "Publish.Endpoints",
		"Ice.MessageSizeMax=lots\n":                                                           "Ice.MessageSizeMax",
	} {
		if _, _, err := iceFlags(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
