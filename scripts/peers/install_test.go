package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installDeps runs scripts/install-deps with stand-ins for dpkg-query and apt-get, and returns the calls of apt-get.
// Dpkg is what dpkg-query prints; apt-get install works from its nth call on.
func installDeps(t *testing.T, dpkg, works string) (calls []string, out string, err error) {
	t.Helper()
	fake := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(fake, name), []byte("#!/bin/bash\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(fake, "log")
	write("dpkg-query", "printf '"+dpkg+"'\n")
	write("apt-get", `echo "$1 ${*: -1}" >>`+log+`; [[ $1 == update ]] || [[ $(grep -c ^install `+log+`) -ge `+works+" ]]\n")
	write("sudo", `"$@"`+"\n")
	cmd := exec.Command(script(t, "..", "install-deps"), "--no-js")
	cmd.Env = append(os.Environ(), "PATH="+fake+":"+os.Getenv("PATH"))
	bytes, err := cmd.CombinedOutput()
	text, _ := os.ReadFile(log)
	return strings.Split(strings.TrimSpace(string(text)), "\n"), string(bytes), err
}

const allButOne = `installed zeroc-icebox\ninstalled libzeroc-icestorm3.7\ninstalled zeroc-ice-utils\n` +
	`installed libzeroc-ice-dev\ninstalled zeroc-ice-compilers\ninstalled zeroc-ice-slice\ninstalled python3-zeroc-ice\n`

func TestInstallDeps(t *testing.T) {
	for _, c := range []struct {
		name, dpkg, works string
		wantCalls         string
		wantErr           bool
	}{
		{"nothing to do", allButOne + `installed zeroc-icegrid\n`, "1", "", false},
		{"one is missing", allButOne, "1", "install zeroc-icegrid", false},
		{"one was removed", allButOne + `config-files zeroc-icegrid\n`, "1", "install zeroc-icegrid", false},
		{"old lists", allButOne, "2", "install zeroc-icegrid,update -o,install zeroc-icegrid", false},
		{"cannot", allButOne, "9", "install zeroc-icegrid,update -o,install zeroc-icegrid", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, out, err := installDeps(t, c.dpkg, c.works)
			got := strings.ReplaceAll(strings.Join(calls, ","), "DPkg::Lock::Timeout=300", "-o")
			if got != c.wantCalls || (err != nil) != c.wantErr {
				t.Errorf("apt-get calls: got %q (%v), want %q; output: %s", got, err, c.wantCalls, out)
			}
			if c.wantErr != strings.Contains(out, "could not install: zeroc-icegrid") {
				t.Errorf("output: %q", out)
			}
		})
	}
}

// The lock file must do with any registry.
func TestLockFileNamesNoHost(t *testing.T) {
	lock, err := os.ReadFile(script(t, "js", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(lock); strings.Contains(text, "resolved") || strings.Contains(text, "://") || !strings.Contains(text, "sha512-") {
		t.Errorf("package-lock.json: has an address, or no checksum:\n%s", text)
	}
}
