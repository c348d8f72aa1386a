package peers

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Call runs icepeer admin: calls that icestormadmin cannot make. It returns the lines printed and the exit code, 1 with
// a last line `error TYPE TEXT` where the service refused.
func Call(t testing.TB, s Service, words ...string) (lines []string, exit int) {
	t.Helper()
	args := append([]string{"-s", "KILL", "60", must(t, build), "admin", "--manager", s.Manager}, s.Properties...)
	cmd := exec.Command(tool(t, "timeout"), append(args, words...)...)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
		t.Fatalf("icepeer admin %s: %v: %s", strings.Join(words, " "), err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), cmd.ProcessState.ExitCode()
}

// ForeignTopic starts an object that poses as another service's topic and returns it with its proxy. Answer says what
// it gives for its link proxy: "self", "null" or "throw". It prints `asked`, and `forwarded OP MODE CONTEXT BYTES` for
// each event.
func ForeignTopic(t testing.TB, answer string, args ...string) (p *Process, proxy string) {
	t.Helper()
	p = start(t, must(t, build), append([]string{"foreign", "--until-eof", "--answer", answer}, args...)...)
	return p, p.WaitLine("ready")
}
