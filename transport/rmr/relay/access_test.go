package relay_test

import (
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"floe/transport/rmr"
	"floe/transport/rmr/relay"
)

func TestAccessRulesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"12010-12099=10.0.0.0/24; 20000=none; *=any":  "",
		"100,110 , 12010 - 12019 = 10.0.0.1,fd00::/8": "",
		"0=any;2147483647=none":                       "",
		"1-9=any;10=none;11-20=any":                   "",
		"12010":                                       `rule "12010": TYPES=WHO is meant`,
		"*=any;":                                      `rule "": TYPES=WHO is meant`,
		"=any":                                        `rule "=any": "" is none of a message type, a range such as 12010-12099 and *`,
		"1,=any":                                      `"" is none of a message type`,
		"RIC_SUB_REQ=any":                             `"RIC_SUB_REQ" is none of a message type`,
		"-1=any":                                      `"-1" is none of a message type`,
		"1-=any":                                      `"1-" is none of a message type`,
		"1-2-3=any":                                   `"1-2-3" is none of a message type`,
		"0x10=any":                                    `"0x10" is none of a message type`,
		"2147483648=any":                              `"2147483648" is none of a message type`,
		"12099-12010=any":                             `"12099-12010" ends before it begins`,
		"5=any;5=none":                                "5 is named twice, in 5 and in 5",
		"1-9=any;20=any;5-12=none":                    "5-9 is named twice, in 1-9 and in 5-12",
		"1-9,3=any":                                   "3 is named twice, in 1-9 and in 3",
		"*=any;1=any;*=none":                          `rule "*=none": * is named twice`,
		"1=":                                          `"" is none of any, none, an address and a range`,
		"1=10.0.0.0/33":                               `"10.0.0.0/33" is none of any`,
		"1=10.0.0":                                    `"10.0.0" is none of any`,
		"1=any,gnb1":                                  `"gnb1" is none of any`,
		"1=::ffff:10.0.0.1":                           `"::ffff:10.0.0.1" is none of any`,
		"1=fe80::1%eth0":                              `"fe80::1%eth0" is none of any`,
	} {
		a, err := relay.ParseAccess(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if err == nil && a.String() != text {
			t.Errorf("%q is shown as %q", text, a)
		}
	}
}

func access(t testing.TB, text string) relay.Access {
	t.Helper()
	a, err := relay.ParseAccess(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// dialFrom connects from one of this machine's addresses.
func dialFrom(t testing.TB, from, to string) net.Conn {
	t.Helper()
	nc, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// What may not come from an address is dropped and counted, on both listeners,
// whatever source the message names; the rest of the connection goes on.
func TestTypesFromAddresses(t *testing.T) {
	log := &syncBuffer{}
	to, topic := rawApp(t), "topic:news"
	n := start(t, relay.Config{
		Access: access(t, "10=127.0.0.1; 12010-12099=127.0.0.2,10.0.0.0/8; 30=none; 40=any; *=127.0.0.0/31"),
		Log:    hclog.New(&hclog.LoggerOptions{Output: log}),
	})
	types := []int32{10, 12009, 12010, 12099, 12100, 30, 40, -5}
	n.load(t, "mse | 10 | -1 | "+to.name+";"+topic, "mse | 12009 | -1 | "+to.name+";"+topic, "mse | 12010 | -1 | "+to.name+";"+topic, "mse | 12099 | -1 | "+to.name+";"+topic,
		"mse | 12100 | -1 | "+to.name+";"+topic, "mse | 30 | -1 | "+to.name+";"+topic, "mse | 40 | -1 | "+to.name+";"+topic)
	passes := map[string][]int32{
		"127.0.0.1": {10, 12009, 12100, 40},
		"127.0.0.2": {12010, 12099, 40},
	}
	published, refused := 0, uint64(0)
	for from, want := range passes {
		messages, topics := dialFrom(t, from, n.rmr), dialFrom(t, from, n.rmrTopics)
		for _, mtype := range types {
			m := text(mtype, from)
			m.Src = []byte("app1:4560") // anybody can say so
			write(t, messages, frame(t, m))
			write(t, topics, frame(t, m))
		}
		for _, mtype := range want {
			if got := parse(t, to.next(t)); got.Type != mtype || string(got.Payload) != from {
				t.Errorf("%s: got %d %q, want %d", from, got.Type, got.Payload, mtype)
			}
		}
		published += 2 * len(want)
		eventually(t, "the topic gets them", func() bool { return n.topics.count("news") == published })
	}
	// Each listener: 30, the other's types, and from 127.0.0.2 all that no rule names.
	refused = 2 * (3 + 5)
	// -5 may come from 127.0.0.1, and is for nobody.
	eventually(t, "the others are counted", func() bool {
		s := n.Stats().Total.Dropped
		return s[relay.NotAllowed] == refused && s[relay.NoEntry] == 2
	})
	if s := n.Stats(); s.Total.Lost() != refused+2 || listener(n).Received != 2*uint64(len(types)) {
		t.Errorf("%+v", s)
	}
	balanced(t, n.Stats())
	// One line for an address at a listener, the first, until 10 s have gone.
	if said := log.String(); strings.Count(said, "message refused by --rmr-allow") != 4 || strings.Count(said, "type=12010 peer=127.0.0.1:") != 2 ||
		strings.Count(said, "type=10 peer=127.0.0.2:") != 2 || strings.Count(said, "source=app1:4560") != 6 || strings.Count(said, "no route for its type: type=-5 ") != 2 {
		t.Error(said)
	}
}

// An answer comes back from who may send nothing, for a connection to an
// endpoint is one that we opened; a message that it sends by itself does not.
func TestAnswersNeedNoRule(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	server := appOn(t, rmr.Config{Listener: l})
	answerAll(t, server)
	n := start(t, relay.Config{Access: access(t, "10=127.0.0.1; *=none")})
	n.load(t, "mse | 10 | -1 | "+l.Addr().String(), "mse | 11 | -1 | "+l.Addr().String())
	listening, _ := app(t)
	for name, caller := range map[string]*rmr.App{"reachable": listening, "behind a wall": appOn(t, rmr.Config{Source: freePort(t)})} {
		if r, err := caller.Call(within(t), n.rmr, text(10, "?")); err != nil || r.Type != 11 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	write(t, dialFrom(t, "127.0.0.2", n.rmr), frame(t, text(11, "by itself")))
	eventually(t, "it is refused", func() bool { return n.Stats().Total.Dropped[relay.NotAllowed] == 1 })
	if s := n.Stats(); s.Total.Lost() != 1 {
		t.Errorf("%+v", s.Total)
	}
}

// What is for the node itself is under the rules as well: health checks,
// alarms, and table data, which is refused in any case.
func TestMessagesForTheNodeItselfNeedARule(t *testing.T) {
	n := start(t, relay.Config{Access: access(t, "100,110=127.0.0.1; *=none")})
	alarm := text(110, `{"identifyingInfo": "drops", "AlarmAction": "RAISE"}`)
	alarm.Src = []byte("app1:4560")
	for _, from := range []string{"127.0.0.2", "127.0.0.1"} {
		nc := dialFrom(t, from, n.rmr)
		for _, m := range [][]byte{frame(t, alarm), frame(t, text(20, "newrt|start\n")), frame(t, text(100, "well?"))} {
			write(t, nc, m)
		}
		if from == "127.0.0.1" {
			if got := parse(t, nextFrame(t, nc)); got.Type != 101 {
				t.Errorf("%+v", got)
			}
		}
	}
	eventually(t, "the others are refused", func() bool { return n.Stats().Total.Dropped[relay.NotAllowed] == 4 })
	if s := n.Stats(); s.HealthChecks != 1 || s.Tables != 0 || len(s.Alarms) != 1 || s.Alarms[0].Times != 1 || s.Total.Lost() != 4 {
		t.Errorf("%+v", s)
	}
}
