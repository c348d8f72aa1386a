package peers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const remedy = "run scripts/install-deps"

// dir returns the folder of this package's scripts: that of the module the test belongs to. (The path of this source
// file would not do, as -trimpath hides it.)
func dir() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		scripts := filepath.Join(at, "scripts", "peers")
		if _, err := os.Stat(filepath.Join(scripts, "build")); err == nil {
			return scripts, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("scripts/peers is in no parent folder of the test")
		}
		at = up
	}
}

// build makes icepeer where it is older than its sources, once per test binary; builds of several take turns.
var build = sync.OnceValues(func() (string, error) {
	at, err := dir()
	if err != nil {
		return "", err
	}
	if out, err := exec.Command(filepath.Join(at, "build")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("scripts/peers/build: %w (%s):\n%s", err, remedy, out)
	}
	return filepath.Join(at, "out", "icepeer"), nil
})

// python finds an interpreter that has Ice: Debian's, before others that shadow it.
var python = sync.OnceValues(func() (string, error) {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import Ice, IceStorm").Run() == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("no python3 that can import Ice: %s", remedy)
})

// node finds Node.js with Ice for JavaScript beside our program.
var node = sync.OnceValues(func() (string, error) {
	at, err := dir()
	if err != nil {
		return "", err
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, remedy)
	}
	if _, err := os.Stat(filepath.Join(at, "js", "node_modules", "ice")); err != nil {
		return "", fmt.Errorf("no Ice for JavaScript: %w: %s", err, remedy)
	}
	return path, nil
})

// must ends the test where a program could not be found or built.
func must(t testing.TB, find func() (string, error)) string {
	t.Helper()
	path, err := find()
	if err != nil {
		t.Fatalf("peers: %v", err)
	}
	return path
}

// tool finds a program of the Debian packages.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("peers: %v: %s", err, remedy)
	}
	return path
}

// script returns the path of a file in this folder.
func script(t testing.TB, name ...string) string {
	t.Helper()
	return filepath.Join(append([]string{must(t, dir)}, name...)...)
}
