package http_test

import (
	"fmt"
	"strings"
	"testing"

	"floe/fsm"
	floehttp "floe/transport/http"
)

// restless is a group in which a topic is created after each look.
type restless struct {
	*group
	looks int
}

func (g *restless) View() *fsm.View {
	v := g.group.View()
	g.looks++
	g.must(fsm.CreateTopic{Name: fmt.Sprintf("t%d", g.looks)})
	return v
}

// A stale answer is the state at exactly the index that its headers name.
func TestStaleAnswerIsOfItsIndex(t *testing.T) {
	var g *restless
	w := newWorld(t, func(c *floehttp.Config) {
		g = &restless{group: c.Group.(*group)}
		c.Group = g
	})
	for range 5 {
		_, body, header := w.do(t, "GET", "/v1/topics?stale=1", nil)
		want := fmt.Sprint(1 + strings.Count(body, `"name"`)) // the first entry names the cluster
		if header.Get("Floe-Index") != want {
			t.Errorf("%s at index %s, want index %s", body, header.Get("Floe-Index"), want)
		}
	}
}
