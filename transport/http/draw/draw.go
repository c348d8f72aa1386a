// Package draw writes the topic graph as text for people and programs.
package draw

import (
	"fmt"
	"strconv"
	"strings"

	"floe/transport/http/api"
	"floe/transport/http/script"
)

// Script returns the graph as a script that makes it. Links to a foreign
// IceStorm can't be made by a script and stand in it as comments.
func Script(g api.Graph) string {
	var b strings.Builder
	for _, t := range g.Topics {
		fmt.Fprintf(&b, "create %s\n", script.QuoteTopic(t.Name))
	}
	for _, l := range g.Links {
		if l.Remote == "icestorm" {
			fmt.Fprintf(&b, "/* link %q to %q of an IceStorm, with cost %d */\n", comment(l.From), comment(l.To), l.Cost)
			continue
		}
		fmt.Fprintf(&b, "link %s %s %d\n", script.QuoteTopic(l.From), target(l), l.Cost)
	}
	return b.String()
}

func comment(s string) string { return strings.ReplaceAll(s, "*/", "* /") }

// target is a link's target as words of a script.
func target(l api.Link) string {
	if l.Remote == api.ToMessages {
		return "--to-messages " + strings.TrimPrefix(l.To, api.ToMessages+":")
	}
	cluster, far := strings.CutPrefix(l.Remote, "floe ")
	if !far {
		return script.QuoteTopic(l.To)
	}
	return script.QuoteFar(cluster, strings.TrimPrefix(l.To, cluster+"/"))
}

// Dot returns the graph for Graphviz.
func Dot(g api.Graph) string {
	var b strings.Builder
	b.WriteString("digraph topics {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n")
	for _, t := range g.Topics {
		fmt.Fprintf(&b, "  %s;\n", dotText(t.Name))
	}
	for _, l := range g.Links {
		style := ""
		if l.Remote != "" {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=\"%d\"%s];\n", dotText(l.From), dotText(l.To), l.Cost, style)
	}
	b.WriteString("}\n")
	return b.String()
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func dotText(s string) string { return `"` + dotEscapes.Replace(s) + `"` }

// Mermaid returns the graph for Mermaid, as Markdown pages draw it.
func Mermaid(g api.Graph) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	nodes := map[string]string{}
	node := func(name, shape string) string {
		id, known := nodes[name]
		if !known {
			id = "t" + strconv.Itoa(len(nodes))
			nodes[name] = id
			fmt.Fprintf(&b, "  %s"+shape+"\n", id, mermaidText(name))
		}
		return id
	}
	for _, t := range g.Topics {
		node(t.Name, `["%s"]`)
	}
	for _, l := range g.Links {
		arrow, shape := "-->", `["%s"]`
		if l.Remote != "" {
			arrow, shape = "-.->", `(["%s"])`
		}
		from, to := node(l.From, `["%s"]`), node(l.To, shape)
		fmt.Fprintf(&b, "  %s %s|%d| %s\n", from, arrow, l.Cost, to)
	}
	return b.String()
}

var mermaidEscapes = strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "\n", " ")

func mermaidText(s string) string { return mermaidEscapes.Replace(s) }
