package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"floe/transport/http/api"
	"floe/transport/http/draw"
)

// scriptLimit is the largest script floe apply takes, in bytes.
const scriptLimit = 16 << 20

func graphCommands() []*command {
	return []*command{
		{name: "graph", args: "", min: 0, max: 0, prints: true, reads: true, shell: true,
			short: "print the topic graph",
			long: `Print the topic graph: as text, a script that floe apply and, but for links to
messages, icestormadmin take; as a picture for Graphviz (dot) or Mermaid; or as JSON.`,
			flags: func(f *pflag.FlagSet) {
				f.Var(newChoice("text", "text", "dot", "mermaid", "json"), "format", "text, dot, mermaid or json")
			},
			example: "floe graph > graph.txt\nfloe graph --format dot > graph.dot",
			run:     runGraph},
		{name: "apply", args: "FILE|-", min: 1, max: 1, prints: true, slow: true,
			short: "bring the graph, or the routes, to what a file says",
			long: `Bring the topic graph to what a script of create and link commands says, whole
or not at all. What is there already stays; topics, links and costs are added
and changed. Only with --prune is removed what the script does not name.
A file that begins with newrt, updatert or meid_map is a route text, and is
checked, compared and loaded as by floe routes.`,
			flags: func(f *pflag.FlagSet) {
				f.Bool("prune", false, "remove topics and links that the script does not name")
				f.Bool("check", false, "change nothing; say whether the script is good")
				f.Bool("diff", false, "change nothing; print what would change")
			},
			example: "floe apply --diff graph.txt\nfloe apply routes.txt",
			run:     runApply},
	}
}

func runGraph(ctx context.Context, s *session, c *call) error {
	g, err := s.client.Graph(ctx)
	if err != nil {
		return err
	}
	s.json = s.json || c.text("format") == "json"
	return s.print(g, func() {
		switch c.text("format") {
		case "dot":
			fmt.Fprint(s.out, draw.Dot(g))
		case "mermaid":
			fmt.Fprint(s.out, draw.Mermaid(g))
		default:
			fmt.Fprint(s.out, draw.Script(g))
		}
	})
}

func runApply(ctx context.Context, s *session, c *call) error {
	text, err := s.file(c.args[0], routesLimit)
	if err != nil {
		return err
	}
	check, diff := c.bool("check"), c.bool("diff")
	switch routes := isRouteText(text); {
	case routes && c.bool("prune"):
		return usagef("--prune is for graph scripts; a whole table (newrt) takes the place of the one before as it is")
	case routes && diff:
		return s.diffRoutes(ctx, text)
	case routes && check:
		return s.checkRoutes(ctx, text)
	case routes:
		return s.loadRoutes(ctx, text, nil)
	case len(text) > scriptLimit:
		return fmt.Errorf("%s: more than %d bytes", c.args[0], scriptLimit)
	}
	applied, err := s.client.Apply(ctx, api.Apply{Script: text, Prune: c.bool("prune"), Check: check || diff})
	if err != nil {
		return err
	}
	return s.print(applied, func() { s.sayChanges(applied, check && !diff) })
}

// isRouteText tells a route text from a graph script by its first record.
func isRouteText(text string) bool {
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, _, _ := strings.Cut(line, "|")
		switch strings.TrimSpace(word) {
		case "newrt", "updatert", "meid_map":
			return true
		}
		return false
	}
	return false
}

// file returns what a file, or for - stdin, holds, up to so many bytes.
func (s *session) file(path string, limit int64) (string, error) {
	var text strings.Builder
	in := s.in
	if path == "-" && s.shell {
		return "", errShellInput
	}
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
		if info, err := f.Stat(); err == nil { // there is room for it at once
			text.Grow(int(min(info.Size(), limit)))
		}
	}
	n, err := io.Copy(&text, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return text.String(), err
}

func (s *session) sayChanges(a api.Applied, count bool) {
	if count {
		s.say("the script is good; it would make %s", api.Plural(len(a.Changes), "change"))
		return
	}
	if len(a.Changes) == 0 {
		s.say("no change")
	}
	for _, c := range a.Changes {
		s.say("%s", changeText(c))
	}
}

func changeText(c api.Change) string {
	switch c.Op {
	case "create":
		return "+ topic " + c.From
	case "destroy":
		return "- topic " + c.From
	case "link":
		return fmt.Sprintf("+ %s to %s with cost %d", c.From, c.To, c.Cost)
	case "subscribe":
		return "+ subscriber " + c.To + " of " + c.From
	case "cost":
		return fmt.Sprintf("~ %s to %s with cost %d, was %d", c.From, c.To, c.Cost, c.Was)
	}
	return fmt.Sprintf("- %s to %s", c.From, c.To)
}
