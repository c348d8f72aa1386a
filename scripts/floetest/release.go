package floetest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// releases are the programs built so far, by commit.
var releases struct {
	sync.Mutex
	built map[string]string
}

// BuildRelease builds the program as it was at a commit of this repository, once for the test binary, and returns its
// path. The test fails where the commit is not there: a clone with all its history has it.
func BuildRelease(t testing.TB, commit string) string {
	t.Helper()
	releases.Lock()
	defer releases.Unlock()
	if path := releases.built[commit]; path != "" {
		return path
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Fatalf("commit %s is not in the repository at %s, so the release can't be built (%v); a clone needs its whole history: git fetch --unshallow", commit, root, err)
	}
	tree := t.TempDir()
	files, err := exec.Command("git", "-C", root, "archive", commit).Output()
	if err != nil {
		t.Fatalf("git archive %s: %v", commit, err)
	}
	run(t, tree, files, "tar", "-x")
	path := filepath.Join(scratch, "floe-"+commit[:12])
	run(t, tree, nil, "go", "build", "-o", path, "./cmd/node")
	if releases.built == nil {
		releases.built = map[string]string{}
	}
	releases.built[commit] = path
	return path
}

func run(t testing.TB, dir string, stdin []byte, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
