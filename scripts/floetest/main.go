package floetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the path of the program under test; Main sets it.
var binary string

// scratch is a directory that goes when the tests end.
var scratch string

// Binary is the path of the program under test, once Main runs.
func Binary() string { return binary }

// Main builds floe, runs the tests and returns their exit code. FLOE_TEST_BINARY names a program to use instead of
// building one.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "floetest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	if binary = os.Getenv("FLOE_TEST_BINARY"); binary != "" {
		return m.Run()
	}
	if err := build(filepath.Join(dir, "floe")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(path string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", path, "./cmd/node")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build floe: %w\n%s", err, out)
	}
	binary = path
	return nil
}

// moduleRoot is the folder with go.mod above the test.
func moduleRoot() (string, error) {
	at, err := os.Getwd()
	for ; err == nil; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("go.mod is in no parent folder of the test")
		}
	}
	return "", err
}
