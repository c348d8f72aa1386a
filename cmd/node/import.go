package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
)

func importCommands() []*command {
	return []*command{
		{name: "import", short: "take over what an IceStorm, or an old route manager, holds",
			long:    "Take over what an IceStorm, or an old route manager, holds. With --check nothing is changed.",
			example: "floe import icestorm --check /var/lib/icestorm\nfloe import rtmgr http://rtmgr:3800"},
		{parent: "import", name: "icestorm", args: "[DIR|FILE]", min: 0, max: 1, prints: true, slow: true,
			short: "make the topics, links and subscribers of an IceStorm here, too",
			long: `Make the topics, links with costs, and subscribers with their quality of service
of an IceStorm here, too, whole or not at all. What is here already stays; a second
time changes nothing. DIR is the database (LMDB.Path), which may be in use, and is
read by Debian's icestormdb; FILE is what icestormdb --export wrote, or the
properties file of the service, which says where the database is. With --from a
running service is asked, which tells topics and links, but not where subscribers are.
The cluster has to have the IceStorm's instance name: found it with --ice-instance.`,
			flags: func(f *pflag.FlagSet) {
				f.Bool("check", false, "change nothing; say what would be done, and what can't be carried over")
				f.Var(newText(""), "instance", "the `NAME` whose topics are meant, if the database has several")
				f.Var(newText(""), "from", "ask the running service with this `PROXY` of its topic manager")
				f.Bool("leave-out", false, "import the rest where something can't be carried over")
				f.Bool("parts", false, "several changes, where one log entry does not hold it all")
			},
			example: "floe import icestorm --check /etc/icestorm/config\nfloe import icestorm --from 'IceStorm/TopicManager:tcp -h 10.0.0.5 -p 10000' --leave-out", needs: "an IceStorm",
			run: runImportIceStorm},
		{parent: "import", name: "bridge", args: "PROXY [TOPIC...]", min: 1, max: -1, prints: true, slow: true,
			short: "link topics with those of a running IceStorm, both ways, while its clients move",
			long: `Link topics both ways with those of the same names in the running IceStorm whose
topic manager has that PROXY: all that are in both, or those named. So an event reaches
the subscribers of both, wherever it was published. --undo removes these links.
Links from one topic to another are not crossed: an event crosses one link at most.`,
			flags:   func(f *pflag.FlagSet) { f.Bool("undo", false, "remove the links") },
			example: "floe import bridge 'IceStorm/TopicManager:tcp -h 10.0.0.5 -p 10000'\nfloe import bridge --undo 'IceStorm/TopicManager:tcp -h 10.0.0.5 -p 10000'", needs: "an IceStorm",
			run: runBothWays},
		{parent: "import", name: "rtmgr", args: "FILE|URL...", min: 1, max: 2, prints: true, slow: true,
			short: "take over what an old route manager knows",
			long: `Take over what an old route manager knows, from its configuration file, from the
running one (URL, whose getdebuginfo is asked), from a FILE with that answer, or from
file and answer together. Components and platform routes, xApps, E2 terminations
with their RANs, and subscriptions take the place of those known here; routes that
follow from none of these are added as routes made by hand.`,
			flags: func(f *pflag.FlagSet) {
				f.Bool("check", false, "change nothing; say what would be done")
			},
			example: "floe import rtmgr --check rtmgr-config.yaml http://rtmgr:3800\nfloe import rtmgr rtmgr-config.yaml http://rtmgr:3800", needs: "an old route manager",
			run: runImportRouteManager},
	}
}

func runImportRouteManager(ctx context.Context, s *session, c *call) error {
	ask := api.ImportRouteManager{Check: c.bool("check")}
	for _, from := range c.args {
		text, err := s.oldManagerText(ctx, from)
		if err != nil {
			return err
		}
		ask.Texts = append(ask.Texts, text)
	}
	done, err := s.client.ImportRouteManager(ctx, ask)
	if err != nil {
		return err
	}
	for _, n := range done.Notes {
		fmt.Fprintf(s.err, "note: %s\n", n)
	}
	return s.print(done, func() {
		for _, f := range done.Facts {
			s.say("found %s", f)
		}
		for _, r := range done.Removed {
			s.say("- %s", r)
		}
		for _, r := range done.Added {
			s.say("+ %s", r)
		}
		switch {
		case !done.Changed:
			s.say("no change")
		case !done.Applied:
			s.say("nothing was changed")
		default:
			s.say("imported, version %d", done.Version)
		}
	})
}

// oldManagerText returns a file's text, or what a running manager answers.
func (s *session) oldManagerText(ctx context.Context, from string) (string, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		return s.file(from, importLimit)
	}
	at, err := url.Parse(from)
	if err != nil {
		return "", usagef("%v", err)
	}
	if strings.Trim(at.Path, "/") == "" {
		at.Path = "/ric/v1/getdebuginfo"
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(io.LimitReader(response.Body, importLimit+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", at, err)
	case response.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s answers %s", at, response.Status)
	case len(b) > importLimit:
		return "", fmt.Errorf("%s: more than %d bytes", at, importLimit)
	}
	return string(b), nil
}

// importLimit is the largest text of an old route manager, in bytes.
const importLimit = 16 << 20

var errLeft = errors.New("nothing was imported, as that can't be carried over; with --leave-out the rest is")
