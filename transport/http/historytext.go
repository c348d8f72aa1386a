package http

import (
	"fmt"
	"strings"

	"floe/fsm"
	"floe/transport/http/api"
	"floe/transport/http/script"
)

// opWords are what the ops are called; those of the graph as the commands are.
var opWords = map[fsm.Kind]string{
	0:                     "group",
	fsm.KindInit:          "found",
	fsm.KindCreateTopic:   "create",
	fsm.KindDestroyTopic:  "destroy",
	fsm.KindLink:          "link",
	fsm.KindUnlink:        "unlink",
	fsm.KindSubscribe:     "subscribe",
	fsm.KindUnsubscribe:   "unsubscribe",
	fsm.KindReap:          "reap",
	fsm.KindBatch:         "apply",
	fsm.KindSetMember:     "member",
	fsm.KindDropMember:    "member_gone",
	fsm.KindSetCluster:    "cluster",
	fsm.KindDropCluster:   "cluster_gone",
	fsm.KindRaiseVersion:  "version",
	fsm.KindChangeRoutes:  "routes",
	fsm.KindCommitRoutes:  "routes",
	fsm.KindSetRelay:      "relay",
	fsm.KindChangeFacts:   "facts",
	fsm.KindCommitRestore: "restore",
	fsm.KindSetToken:      "token",
	fsm.KindDropToken:     "token_gone",
}

// opWord says in a word what was asked for.
func opWord(c *fsm.Change) string {
	if c.Was != 0 {
		return "revert"
	}
	if word := opWords[c.Kind]; word != "" {
		return word
	}
	return fmt.Sprintf("kind_%d", c.Kind) // of a newer program
}

// shownSteps is how many steps of a change are said one by one.
const shownSteps = 3

// changeText says in one line what a change was.
func changeText(c *fsm.Change, r api.Record) string {
	var parts []string
	for _, g := range r.Graph[:min(len(r.Graph), shownSteps)] {
		parts = append(parts, stepText(g))
	}
	if more := len(r.Graph) - shownSteps; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	for _, m := range r.Members {
		parts = append(parts, memberText(m))
	}
	if text := routesText(c); text != "" {
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	if lead := leadText(c); lead != "" && text != "" {
		return lead + ": " + text
	} else if lead != "" {
		return lead
	}
	return text
}

// leadText says what the steps don't.
func leadText(c *fsm.Change) string {
	name := fmt.Sprintf("%q", c.Name)
	switch c.Kind {
	case fsm.KindInit:
		return "the cluster is founded"
	case fsm.KindReap:
		return "found dead"
	case fsm.KindSetMember:
		return "node " + c.Name + " says where it is and what it runs"
	case fsm.KindDropMember:
		return "node " + c.Name + " is forgotten"
	case fsm.KindSetCluster:
		return "cluster " + name + " is known"
	case fsm.KindDropCluster:
		return "cluster " + name + " is forgotten"
	case fsm.KindRaiseVersion:
		return "the cluster version is " + c.Name
	case fsm.KindSetRelay:
		return "relay " + c.Name
	case fsm.KindChangeFacts:
		return "managers of the RIC"
	case fsm.KindCommitRestore:
		return "a backup was restored"
	case fsm.KindSetToken:
		return "token " + name + " is made"
	case fsm.KindDropToken:
		return "token " + name + " is gone"
	case fsm.KindBatch:
		if c.Was != 0 {
			return fmt.Sprintf("back to index %d", c.Was)
		}
	case fsm.KindChangeRoutes, fsm.KindCommitRoutes:
		if c.NRoutes+c.NMEIDs == 0 {
			return "an empty table"
		}
	}
	return ""
}

// stepText is a step as a person says it.
func stepText(g api.Change) string {
	from, to := script.QuoteTopic(g.From), g.To
	switch g.Op {
	case "link":
		return fmt.Sprintf("link %s to %s with cost %d", from, to, g.Cost)
	case "unlink":
		return fmt.Sprintf("unlink %s from %s, cost %d", from, to, g.Cost)
	case "cost":
		return fmt.Sprintf("cost of %s to %s from %d to %d", from, to, g.Was, g.Cost)
	case "subscribe":
		return fmt.Sprintf("subscribe %s to %s", to, from)
	case "unsubscribe":
		return fmt.Sprintf("unsubscribe %s from %s", to, from)
	}
	return g.Op + " " + from
}

func memberText(m api.MemberChange) string {
	switch {
	case m.Is == "":
		return fmt.Sprintf("node %s is no member any more", m.ID)
	case m.Was == "":
		return fmt.Sprintf("node %s enters as %s", m.ID, m.Is)
	}
	return fmt.Sprintf("node %s is %s, and was %s", m.ID, m.Is, m.Was)
}

// routesText says how much of the routes changed.
func routesText(c *fsm.Change) string {
	var parts []string
	if n := c.NRoutes; n > 0 {
		parts = append(parts, api.Plural(n, "route"))
	}
	if n := c.NMEIDs; n > 0 {
		parts = append(parts, api.Plural(n, "MEID"))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " changed"
}
