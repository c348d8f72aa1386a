package draw

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/transport/http/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The manual's federation with odd names, a foreign and a far link, and links to messages.
var sample = api.Graph{
	Topics: []api.Topic{{Name: "", ID: 5}, {Name: "A", ID: 1}, {Name: "B", ID: 2}, {Name: "C", ID: 3}, {Name: "a/b \"c\"\\\n<#>", ID: 4}},
	Links: []api.Link{
		{From: "A", To: "B", Cost: 0}, {From: "A", To: "C", Cost: 1}, {From: "A", To: "a/b \"c\"\\\n<#>", Cost: -3},
		{From: "B", To: "B", Cost: 7},
		{From: "C", To: "east/X y", Cost: 5, Remote: "floe east"},
		{From: "C", To: "Other/Z", Cost: 2, Remote: "icestorm"},
		{From: "C", To: "rmr:12050", Cost: 0, Remote: "rmr"},
		{From: "C", To: "rmr:12050/3", Cost: -4, Remote: "rmr"},
	},
}

func TestGolden(t *testing.T) {
	for name, got := range map[string]string{
		"graph.txt": Script(sample), "graph.dot": Dot(sample), "graph.mermaid": Mermaid(sample),
		"empty.txt": Script(api.Graph{}), "empty.dot": Dot(api.Graph{}), "empty.mermaid": Mermaid(api.Graph{}),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
