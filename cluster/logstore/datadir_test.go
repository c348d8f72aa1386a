package logstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lockInChild is the second process: it takes the lock, says how that went and holds it until its input ends.
func lockInChild(dir string) int {
	if _, err := Lock(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func TestLockIsHeldAgainstOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "LOGSTORE_TEST_LOCK="+dir)
	stdin, _ := child.StdinPipe()
	stdout, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("locked\n"))
	if _, err := io.ReadFull(stdout, line); err != nil || string(line) != "locked\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	_, err := Lock(dir)
	l := (*LockedError)(nil)
	if !errors.As(err, &l) || l.PID != child.Process.Pid || l.Dir != dir {
		t.Errorf("got %v, want LockedError with pid %d", err, child.Process.Pid)
	}
	stdin.Close()
	child.Wait()
	lock, err := Lock(dir)
	if err != nil {
		t.Fatalf("after the child's end: %v", err)
	}
	second := exec.Command(os.Args[0])
	second.Env = child.Env
	out, _ := second.CombinedOutput()
	if want := fmt.Sprintf("in use by process %d", os.Getpid()); !strings.Contains(string(out), want) || second.ProcessState.ExitCode() != 1 {
		t.Errorf("got %q, want %q", out, want)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestCheckDir(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	os.WriteFile(at("file"), nil, 0o600)
	os.MkdirAll(at("home/.ssh"), 0o700)
	os.MkdirAll(at("disk/lost+found"), 0o700)
	os.MkdirAll(at("ours/snapshots"), 0o700)
	os.MkdirAll(at("blocked/lock"), 0o700) // a directory where the lock belongs can't be written, by root neither
	tests := []struct{ dir, want string }{
		{"new", ""}, {"new/deeper/still", ""}, {"disk", ""}, {"ours", ""},
		{"file", "is a file"}, {"file/below", "not a directory"},
		{"home", `holds ".ssh"`}, {"blocked", "can't be written"},
	}
	for _, tt := range tests {
		err := CheckDir(at(tt.dir))
		if tt.want == "" && err != nil {
			t.Errorf("%s: got %v, want none", tt.dir, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), at(tt.dir))) {
			t.Errorf("%s: got %v, want %q and the path", tt.dir, err, tt.want)
		}
	}
	info, err := os.Stat(at("new"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v, want mode 0700", info.Mode(), err)
	}
}
