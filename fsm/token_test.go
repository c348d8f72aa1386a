package fsm_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"floe/fsm"
	"floe/topics"
)

func token(name string, role fsm.Role, secret string, ends int64) fsm.Token {
	return fsm.Token{Name: name, Role: role, Hash: fsm.HashToken(secret), Made: 100, Ends: ends}
}

func TestTokensAreFoundByTheirSecret(t *testing.T) {
	n := newNode()
	n.op(fsm.RaiseVersion{Version: 3})
	before := n.View().Digest()
	if n.View().HasRights() {
		t.Error("rights before the first token")
	}
	n.op(fsm.SetToken{Token: token("j", "", "join", 200)})
	if n.View().HasRights() {
		t.Error("a join token gives rights")
	}
	n.op(fsm.SetToken{Token: token("b", fsm.RolePublish, "two", 300)})
	n.op(fsm.SetToken{Token: token("a", fsm.RoleCluster, "one", 0)})
	for secret, want := range map[string]string{"one": "a", "two": "b", "join": "j", "": "", "on": "", "onee": ""} {
		if got, ok := n.View().Token(secret); got.Name != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", secret, got.Name, ok, want)
		}
	}
	b, _ := n.View().Token("two")
	if b.Ended(time.Unix(0, 299)) || !b.Ended(time.Unix(0, 300)) {
		t.Error("it ends at another time")
	}
	if n.View().Digest() != before {
		t.Error("tokens are part of the digest")
	}
	if r := n.op(fsm.DropToken{Name: "a"}); r.Err() != nil || r.Count != 1 {
		t.Error(r)
	}
	if _, ok := n.View().Token("one"); ok || !n.View().HasRights() {
		t.Error("the wrong token is gone")
	}
}

func TestRefusedTokens(t *testing.T) {
	n := newNode()
	if r := n.op(fsm.SetToken{Token: token("a", fsm.RoleRead, "x", 0)}); !errors.Is(r.Err(), fsm.ErrVersion) {
		t.Errorf("before version 3: %v", r.Err())
	}
	n.op(fsm.RaiseVersion{Version: 3})
	n.op(fsm.SetToken{Token: token("a", fsm.RoleRead, "x", 0)})
	n.op(fsm.SetToken{Token: token("j", "", "y", 200)})
	bad := token("c", fsm.RoleRead, "z", 0)
	bad.Hash = bad.Hash[1:]
	for name, c := range map[string]struct {
		op   fsm.Op
		kind topics.Kind
	}{
		"same name":        {fsm.SetToken{Token: token("a", fsm.RoleRead, "z", 0)}, fsm.ErrTokenExists},
		"same secret":      {fsm.SetToken{Token: token("c", fsm.RoleRead, "x", 0)}, fsm.ErrTokenExists},
		"no name":          {fsm.SetToken{Token: token("", fsm.RoleRead, "z", 0)}, fsm.ErrToken},
		"no role":          {fsm.SetToken{Token: token("c", "root", "z", 0)}, fsm.ErrToken},
		"short hash":       {fsm.SetToken{Token: bad}, fsm.ErrToken},
		"join without end": {fsm.SetToken{Token: token("c", "", "z", 0)}, fsm.ErrToken},
		"unknown":          {fsm.DropToken{Name: "z"}, fsm.ErrNoToken},
		"spend unknown":    {fsm.SpendToken{Hash: fsm.HashToken("z"), Now: 1}, fsm.ErrNoToken},
		"spend a role":     {fsm.SpendToken{Hash: fsm.HashToken("x"), Now: 1}, fsm.ErrNoToken},
		"spend late":       {fsm.SpendToken{Hash: fsm.HashToken("y"), Now: 200}, fsm.ErrNoToken},
	} {
		if r := n.op(c.op); !errors.Is(r.Err(), c.kind) {
			t.Errorf("%s: %v, want %v", name, r.Err(), c.kind)
		}
	}
	if r := n.op(fsm.SpendToken{Hash: fsm.HashToken("y"), Now: 199}); r.Err() != nil {
		t.Error(r.Err())
	}
	if r := n.op(fsm.SpendToken{Hash: fsm.HashToken("y"), Now: 199}); !errors.Is(r.Err(), fsm.ErrNoToken) {
		t.Errorf("spent twice: %v", r.Err())
	}
}

func TestTokensAreBounded(t *testing.T) {
	n := newNode()
	n.op(fsm.RaiseVersion{Version: 3})
	for i := range fsm.MaxTokens {
		if r := n.op(fsm.SetToken{Token: token(fmt.Sprint("j", i), "", fmt.Sprint(i), 200)}); r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	if r := n.op(fsm.SetToken{Token: token("more", fsm.RoleRead, "x", 0)}); !errors.Is(r.Err(), fsm.ErrToken) {
		t.Errorf("got %v", r.Err())
	}
	late := token("more", fsm.RoleRead, "x", 0)
	late.Made = 200
	if r := n.op(fsm.SetToken{Token: late}); r.Err() != nil || len(n.View().Tokens) != 1 {
		t.Errorf("join tokens that ended stay: %v, %d", r.Err(), len(n.View().Tokens))
	}
}
