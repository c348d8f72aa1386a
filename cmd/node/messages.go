package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"floe/routing"
	"floe/transport/http/api"
	"floe/transport/rmr"
	"floe/transport/rmr/proto"
)

func messageCommands() []*command {
	return []*command{
		{name: "send", args: "[DATA|-]", min: 0, max: 1, prints: true, local: true,
			short: "send an RMR message to an endpoint",
			long: `Send an RMR message to the endpoint --to names, as an RMR application would: no
node and no route table takes part. DATA (or, for -, what stdin holds) is its
payload; without DATA it has none. With --call it waits for the answer and prints
it as floe recv does. That a message was sent does not mean that it was received:
RMR has no acknowledgements.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newNumber(0, math.MinInt32, math.MaxInt32), "mtype", "message type (needed)")
				f.Var(newEndpoint(), "to", "`HOST:PORT` of the endpoint (needed); routes are not looked up")
				f.Var(newNumber(proto.NoSubID, math.MinInt32, math.MaxInt32), "subid", "subscription id, -1 for none")
				f.Var(newMEID(), "meid", "the message's `MEID`")
				f.Bool("call", false, "wait for an answer and print it")
				f.Var(newDuration(5*time.Second), "timeout", "how long to wait for the connection; with --call, for the answer: 1s unless given")
			},
			example: "floe send --mtype 1000 --to 10.0.1.1:4560 hello\nfloe send --mtype 1002 --meid gnb_001_001_0000019b --call --to 10.0.2.1:38000 -",
			run:     runSend},
		{name: "recv", args: "", min: 0, max: 0, prints: true, local: true,
			short: "take RMR messages and print them",
			long: `Listen as an RMR application does and print each message: type, subscription id,
MEID, source and payload, with a tab between; with --json each is one line. With
--reply each is answered, whether it is a call or not. How many were dropped, and
how many connections were closed for what they sent, goes to stderr at the end.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newOwnListener(), "listen", "`HOST:PORT` or :PORT to listen on (needed); port 0: the system chooses, stderr says which")
				f.Var(newNumber(0, 0, math.MaxInt32), "count", "end after so many messages; 0: never")
				f.Var(newText(""), "reply", "answer each message with `DATA`")
				f.Var(newNumber(0, math.MinInt32, math.MaxInt32), "reply-mtype", "message type of the answers; the message's own unless given")
			},
			example: "floe recv --listen :4560\nfloe recv --listen 127.0.0.1:4570 --count 1 --reply pong",
			run:     runRecv},
	}
}

func newEndpoint() *value {
	return &value{kind: "endpoint", check: func(s string) (string, error) { return s, checkAddress(s) }}
}

func newMEID() *value {
	return &value{kind: "MEID", check: func(s string) (string, error) { return s, routing.CheckMEID(s) }}
}

// newOwnListener takes what newListener does, but for off.
func newOwnListener() *value {
	return &value{kind: "listener", check: func(s string) (string, error) {
		if s == "off" || checkListener(s) != nil {
			return "", fmt.Errorf("%q is not HOST:PORT or :PORT, with an IP address of this machine for the host", s)
		}
		return s, nil
	}}
}

// needFlags returns a usage error unless all the flags were given.
func (c *call) needFlags(command string, names ...string) error {
	for _, name := range names {
		if !c.flags.Changed(name) {
			return usagef("`%s' needs --%s", command, name)
		}
	}
	return nil
}

func runSend(ctx context.Context, s *session, c *call) error {
	if err := c.needFlags("send", "mtype", "to"); err != nil {
		return err
	}
	m := proto.Message{Type: c.int32("mtype"), SubID: c.int32("subid"), MEID: []byte(c.text("meid"))}
	if len(c.args) == 1 {
		var err error
		if m.Payload, err = s.payload(c.args[0]); err != nil {
			return err
		}
	}
	wait, _ := time.ParseDuration(c.text("timeout")) // checked when it was set
	if c.bool("call") && !c.flags.Changed("timeout") {
		wait = rmr.CallTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return messageError(s.sendMessage(ctx, c.text("to"), m, c.bool("call"), wait))
}

func (s *session) sendMessage(ctx context.Context, to string, m proto.Message, isCall bool, wait time.Duration) error {
	app := rmr.New(rmr.Config{Timeout: wait})
	defer app.Close()
	if !isCall {
		return app.Send(ctx, to, m)
	}
	answer, err := app.Call(ctx, to, m)
	if err != nil {
		return err
	}
	return s.printMessage(answer)
}

// messageError gives errors of package rmr their kind.
func messageError(err error) error {
	var out *rmr.Unreachable
	var silent *rmr.NoAnswer
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return &api.Error{Kind: api.Cancelled, Message: "given up"}
	case errors.As(err, &out):
		return &api.Error{Kind: api.Unreachable, Message: err.Error()}
	case errors.As(err, &silent):
		return &api.Error{Kind: api.Timeout, Message: err.Error()}
	}
	return err
}

func runRecv(ctx context.Context, s *session, c *call) error {
	if err := c.needFlags("recv", "listen"); err != nil {
		return err
	}
	if c.flags.Changed("reply-mtype") && !c.flags.Changed("reply") {
		return usagef("--reply-mtype needs --reply")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.text("listen"))
	if err != nil {
		return err
	}
	app := rmr.New(rmr.Config{Listener: l})
	defer s.sayMissed(app)
	defer app.Close()
	fmt.Fprintf(s.err, "listening on %s\n", l.Addr())
	limit, _ := strconv.Atoi(c.text("count")) // checked when it was set
	for n := 0; limit == 0 || n < limit; n++ {
		r, err := app.Receive(ctx)
		if err != nil {
			return nil // stopped by the user
		}
		if err := s.printMessage(r); err != nil {
			return err
		}
		if c.flags.Changed("reply") {
			s.reply(ctx, app, r, c)
		}
	}
	return nil
}

// reply answers a message; that it can't stops nothing.
func (s *session) reply(ctx context.Context, app *rmr.App, r *rmr.Received, c *call) {
	mtype := r.Type
	if c.flags.Changed("reply-mtype") {
		mtype = c.int32("reply-mtype")
	}
	if err := app.Reply(ctx, r, mtype, []byte(c.text("reply"))); err != nil {
		s.warn("warning", err)
	}
}

func (s *session) sayMissed(app *rmr.App) {
	got := app.Stats()
	if got.Dropped > 0 {
		fmt.Fprintf(s.err, "dropped %d messages: they came faster than they were printed\n", got.Dropped)
	}
	if got.Refused > 0 {
		fmt.Fprintf(s.err, "closed %d connections for what they sent\n", got.Refused)
	}
}

// message is an RMR message as JSON.
type message struct {
	MType         int32  `json:"mtype"`
	SubID         int32  `json:"subid"`
	MEID          string `json:"meid"`
	Source        string `json:"source"`
	SourceAddress string `json:"source_address"`
	// XID is the transaction id, 32 bytes in hexadecimal.
	XID  string `json:"xid"`
	Call bool   `json:"call"`
	Data []byte `json:"data"`
}

func (s *session) printMessage(r *rmr.Received) error {
	if s.json {
		return s.printLine(message{
			MType: r.Type, SubID: r.SubID, MEID: string(r.MEID), Source: string(r.Src), SourceAddress: string(r.SrcIP),
			XID: hex.EncodeToString(r.XID[:]), Call: r.IsCall(), Data: r.Payload,
		})
	}
	_, err := fmt.Fprintf(s.out, "%d\t%d\t%s\t%s\t%s\n", r.Type, r.SubID, lineText(r.MEID), lineText(r.Src), lineText(r.Payload))
	return err
}
