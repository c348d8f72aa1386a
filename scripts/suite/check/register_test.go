package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

func TestRegister(t *testing.T) {
	for name, c := range map[string]struct {
		tell   func(*story)
		broken bool
	}{
		"life of a topic": {tell: func(s *story) {
			s.exists("a", 0)
			s.created("a", 1)
			s.refused("create", "a")
			s.exists("a", 1)
			s.did("destroy", "a", history.OK)
			s.refused("destroy", "a")
			s.exists("a", 0)
			s.created("a", 2)
			s.exists("a", 2)
		}},
		"stale read after a create": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.exists("a", 0)
		}},
		"stale read after a destroy": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.OK)
			s.exists("a", 1)
		}},
		"made anew, read with the old id": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.OK)
			s.created("a", 2)
			s.exists("a", 1)
		}},
		"created twice": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.created("a", 2)
		}},
		"refused though it was not there": {broken: true, tell: func(s *story) {
			s.exists("a", 0)
			s.refused("create", "a")
		}},
		"list without an acknowledged topic": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.exists("a", 1)
			s.add(history.Op{Func: "topics", Outcome: history.OK, Out: &history.Value{Topics: ids{"b": 2}}})
		}},
		"unknown create takes effect late": {tell: func(s *story) {
			s.did("create", "a", history.Info)
			s.exists("a", 0)
			s.exists("a", 9)
			s.exists("a", 9)
		}},
		"unknown create has two ids": {broken: true, tell: func(s *story) {
			s.did("create", "a", history.Info)
			s.exists("a", 9)
			s.exists("a", 10)
		}},
		"unknown create undone by nobody": {broken: true, tell: func(s *story) {
			s.did("create", "a", history.Info)
			s.exists("a", 9)
			s.exists("a", 0)
		}},
		"failed operations are left out": {tell: func(s *story) {
			s.did("create", "a", history.Fail)
			s.exists("a", 0)
			s.created("a", 1)
		}},
		"life of a link": {tell: func(s *story) {
			s.linked("link", "a>b", 5, history.OK)
			s.cost("a>b", 5)
			s.refused("link", "a>b")
			s.linked("relink", "a>b", -2, history.OK)
			s.cost("a>b", -2)
			s.did("unlink", "a>b", history.OK)
			s.refused("unlink", "a>b")
		}},
		"stale cost": {broken: true, tell: func(s *story) {
			s.linked("link", "a>b", 5, history.OK)
			s.linked("relink", "a>b", 6, history.OK)
			s.cost("a>b", 5)
		}},
		"refused link changed the cost": {broken: true, tell: func(s *story) {
			s.linked("link", "a>b", 5, history.OK)
			s.add(history.Op{Func: "link", Key: "a>b", Outcome: history.OK, In: &history.Value{Cost: 6}, Out: &history.Value{Refused: true}})
			s.cost("a>b", 6)
		}},
		"final read misses a contended link": {broken: true, tell: func(s *story) {
			s.linked("link", "a>b", 5, history.OK)
			s.linked("relink", "a>b", 6, history.OK)
			s.final("n1", nil, costs{"a>b": 5})
		}},
		"links of destroyed topics are not judged here": {tell: func(s *story) {
			s.created("a", 1)
			s.linked("link", "a>b", 5, history.OK)
			s.did("destroy", "a", history.OK)
			s.add(history.Op{Func: "cost", Key: "a>b", Outcome: history.OK, Out: &history.Value{Absent: true}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Register(s.ops, 10*time.Second, ""), c.broken)
		})
	}
}

// Of a key with more operations than porcupine can take, the first ones are
// checked; what comes later makes a good history no worse.
func TestRegisterCutsLongHistories(t *testing.T) {
	good, bad := &story{}, &story{}
	for i := range 150 {
		for _, s := range []*story{good, bad} {
			s.created("a", uint64(i+1))
			s.did("destroy", "a", history.OK)
			if s == bad && i == 20 {
				s.exists("a", 1)
			}
		}
	}
	for i := range 500 {
		good.add(history.Op{Func: "topics", Outcome: history.OK, Out: &history.Value{Topics: ids{fmt.Sprint(i): 1}}})
	}
	good.final("n1", nil, nil)
	judge(t, check.Register(good.ops, 20*time.Second, ""), false)
	judge(t, check.Register(bad.ops, 20*time.Second, ""), true)
}

func TestRegisterKeepsThePicture(t *testing.T) {
	s := &story{}
	s.created("a/b", 1)
	s.exists("a/b", 0)
	dir := t.TempDir()
	judge(t, check.Register(s.ops, 10*time.Second, dir), true)
	if _, err := os.Stat(filepath.Join(dir, "history-topic_a_b.html")); err != nil {
		t.Error(err)
	}
}

func TestIdentity(t *testing.T) {
	proxy := func(s *story, node, text string) {
		s.add(history.Op{Func: "proxy", Key: "a", Node: node, Outcome: history.OK, Out: &history.Value{Text: text}})
	}
	for name, c := range map[string]struct {
		tell    func(*story)
		churned bool
		broken  bool
	}{
		"new ids, steady proxies": {tell: func(s *story) {
			s.created("a", 1)
			s.exists("a", 1)
			s.did("destroy", "a", history.OK)
			s.created("a", 2)
			proxy(s, "n1", "IceStorm/a.publish:tcp -h x")
			proxy(s, "n2", "IceStorm/a.publish:tcp -h x")
		}},
		"id of another topic": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.OK)
			s.created("b", 1)
		}},
		"id of the same name's earlier life": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.OK)
			s.created("a", 1)
		}},
		"list gives an id to another name": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.add(history.Op{Func: "topics", Outcome: history.OK, Out: &history.Value{Topics: ids{"b": 1}}})
		}},
		"proxy changes": {broken: true, tell: func(s *story) {
			proxy(s, "n1", "IceStorm/a.publish:tcp -h x")
			proxy(s, "n1", "IceStorm/a.publish:tcp -h y")
		}},
		"endpoints change with the members": {churned: true, tell: func(s *story) {
			proxy(s, "n1", "IceStorm/a.publish -t -e 1.1:tcp -h x")
			proxy(s, "n1", "IceStorm/a.publish -t -e 1.1:tcp -h y")
		}},
		"the object changes with the members": {churned: true, broken: true, tell: func(s *story) {
			proxy(s, "n1", "IceStorm/a.publish -t -e 1.1:tcp -h x")
			proxy(s, "n1", "IceStorm/b.publish -t -e 1.1:tcp -h x")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Identity(s.ops, c.churned), c.broken)
		})
	}
}

func TestDigest(t *testing.T) {
	digest := func(s *story, node string, index uint64, text string) {
		s.add(history.Op{Func: "digest", Node: node, Outcome: history.OK, Out: &history.Value{Index: index, Text: text}})
	}
	good, bad, alone := &story{}, &story{}, &story{}
	for _, s := range []*story{good, bad} {
		digest(s, "n1", 5, "five")
		digest(s, "n2", 6, "six")
		digest(s, "n2", 5, "five")
	}
	digest(bad, "n3", 6, "seven")
	digest(alone, "n1", 5, "five")
	judge(t, check.Digest(good.ops), false)
	judge(t, check.Digest(bad.ops), true)
	judge(t, check.Digest(alone.ops), true)
}
