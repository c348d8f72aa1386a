package peers

import (
	"bytes"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// AdminLimit is how long an icestormadmin may run. Some inputs make it spin for ever and ignore SIGTERM, and it has no
// limit of its own for calls, so it ends by SIGKILL.
const AdminLimit = 20 * time.Second

// Admin runs the stock icestormadmin with each command as its -e. At is a topic manager's proxy, or HOST:PORT where
// IceStorm/Finder answers. Commands that begin with "--" are handed over as properties. Exit is -1 where it had to be
// killed after [AdminLimit].
func Admin(t testing.TB, at string, commands ...string) (stdout, stderr string, exit int) {
	t.Helper()
	args := adminTarget(at)
	for _, c := range commands {
		if strings.HasPrefix(c, "--") {
			args = append(args, c)
		} else {
			args = append(args, "-e", c)
		}
	}
	return runAdmin(t, AdminLimit, "", args)
}

// AdminScript hands the script to the stock icestormadmin on stdin, as a user with a file does. Its banner and prompts
// are part of stdout: see [Unprompted].
func AdminScript(t testing.TB, at, script string, properties ...string) (stdout, stderr string, exit int) {
	t.Helper()
	return runAdmin(t, AdminLimit, script, append(adminTarget(at), properties...))
}

// Unprompted takes icestormadmin's banner and prompts out of its output.
func Unprompted(stdout string) string {
	if strings.HasPrefix(stdout, "Ice ") {
		_, stdout, _ = strings.Cut(stdout, "\n")
	}
	return strings.TrimPrefix(strings.NewReplacer(">>> ", "", "(cont) ", "").Replace(stdout), "\n")
}

// adminTarget tells HOST:PORT from a proxy, which has a blank or a category.
func adminTarget(at string) []string {
	host, port, err := net.SplitHostPort(at)
	if err != nil || strings.ContainsAny(at, " /") {
		return []string{"--IceStormAdmin.TopicManager.Default=" + at}
	}
	return []string{"--IceStormAdmin.Host=" + host, "--IceStormAdmin.Port=" + port}
}

func runAdmin(t testing.TB, limit time.Duration, stdin string, args []string) (stdout, stderr string, exit int) {
	t.Helper()
	// timeout rather than a timer of ours: it also holds where the test binary is killed.
	seconds := strconv.FormatFloat(limit.Seconds(), 'f', 3, 64)
	cmd := exec.Command(tool(t, "timeout"), append([]string{"-s", "KILL", seconds, tool(t, "icestormadmin")}, args...)...)
	var out, err bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &err
	cmd.WaitDelay = time.Second
	failure := cmd.Run()
	var ended *exec.ExitError
	if failure != nil && !errors.As(failure, &ended) {
		t.Fatalf("icestormadmin: %v", failure)
	}
	exit = cmd.ProcessState.ExitCode()
	if exit == 128+9 {
		exit = -1
	}
	return out.String(), err.String(), exit
}
