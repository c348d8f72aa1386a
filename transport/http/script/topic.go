package script

import (
	"strings"

	"floe/transport/ice/proto"
)

// TopicWord reads a topic word as icestormadmin does: as an Ice identity
// "NAME" or "INSTANCE/NAME", in which a slash that belongs to a name is
// written "\/". instance is empty where the word has none.
func TopicWord(word string) (instance, name string, err error) {
	id, err := proto.ParseIdentity(word)
	return id.Category, id.Name, err
}

// QuoteTopic returns the word that stands for a topic name in a script.
func QuoteTopic(name string) string { return quoteIdentity(proto.Identity{Name: name}) }

// QuoteFar returns the word that stands for a topic of another cluster.
func QuoteFar(cluster, name string) string {
	return quoteIdentity(proto.Identity{Name: name, Category: cluster})
}

func quoteIdentity(id proto.Identity) string {
	word := id.String()
	if word != "" && !strings.ContainsAny(word, " ;'\"") && word[0] != '-' && word[0] != '/' && word[len(word)-1] != '\\' {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
