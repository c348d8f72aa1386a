package peers

import "testing"

// Language is what a client is written in.
type Language string

// The languages. JavaScript only publishes (js/publisher.js says why).
const (
	CPP        Language = "c++"
	Python     Language = "python"
	JavaScript Language = "javascript"
)

// command returns the program for a role, "publish" or "subscribe", and its arguments.
func command(t testing.TB, l Language, role string, s Service) (path string, args []string) {
	t.Helper()
	file := map[string]string{"publish": "publisher", "subscribe": "subscriber"}[role]
	switch {
	case l == CPP:
		path, args = must(t, build), []string{role, "--manager", s.Manager}
	case l == Python:
		path, args = must(t, python), []string{script(t, "py", file+".py"), "--manager", s.Manager}
	case l == JavaScript && role == "publish":
		if s.WS == "" {
			t.Fatal("peers: JavaScript needs a service that listens on ws")
		}
		path, args = must(t, node), []string{script(t, "js", file+".js"), "--manager", s.WS}
	default:
		t.Fatalf("peers: no program to %s in %s", role, l)
	}
	return path, append(args, s.Properties...)
}
