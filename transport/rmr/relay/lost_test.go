package relay_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"floe/transport/rmr/relay"
)

// A message that goes nowhere leaves a line with its type, MEID and source,
// one for each reason until 10 s have gone.
func TestLostMessagesAreLogged(t *testing.T) {
	log := &syncBuffer{}
	n := start(t, relay.Config{Log: hclog.New(&hclog.LoggerOptions{Output: log})})
	n.load(t, "mse | 4 | -1 | %meid")
	nc := dialFrom(t, "127.0.0.2", n.rmr)
	for range 3 {
		m := text(3, "?")
		m.Src = []byte("app1:4560")
		write(t, nc, frame(t, m))
		m.Type, m.MEID = 4, []byte("gnb1")
		write(t, nc, frame(t, m))
	}
	eventually(t, "all are counted", func() bool {
		s := n.Stats().Total.Dropped
		return s[relay.NoEntry] == 3 && s[relay.UnknownMEID] == 3
	})
	said := log.String()
	for _, want := range []string{
		"message dropped, no route for its type: type=3 subid=-1 meid=\"\" source=app1:4560 peer=127.0.0.2:",
		"message dropped, nobody owns its MEID: type=4 subid=-1 meid=gnb1 source=app1:4560 peer=127.0.0.2:",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(said, want), said)
		}
	}
}
