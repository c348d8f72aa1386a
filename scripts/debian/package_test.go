package debian

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// build makes the package with a version and returns its path.
func build(t *testing.T, version string) string {
	t.Helper()
	out := t.TempDir()
	run(t, "../package", "--out", out, "--version", version)
	return filepath.Join(out, "floe_"+version+"_"+runtime.GOARCH+".deb")
}

func TestPackage(t *testing.T) {
	deb := build(t, "1.2.3")
	t.Run("is whole", func(t *testing.T) { isWhole(t, deb) })
	t.Run("is a service", func(t *testing.T) { isService(t, deb) })
}

// The program needs no library and tells its version; the package has all that belongs to it.
func isWhole(t *testing.T, deb string) {
	program := filepath.Join(filepath.Dir(deb), "floe")
	if out := run(t, program, "version"); !strings.HasPrefix(out, "floe 1.2.3,") {
		t.Errorf("floe version says %q", out)
	}
	if out := run(t, "file", "--brief", program); !strings.Contains(out, "statically linked") {
		t.Errorf("the program is no static one: %s", out)
	}
	if out := run(t, "dpkg-deb", "--field", deb, "Version", "Architecture"); out != "Version: 1.2.3\nArchitecture: "+runtime.GOARCH+"\n" {
		t.Errorf("the package is %q", out)
	}
	files := t.TempDir()
	run(t, "dpkg-deb", "--extract", deb, files)
	for shell, at := range map[string]string{
		"bash": "bash-completion/completions/floe", "zsh": "zsh/vendor-completions/_floe", "fish": "fish/vendor_completions.d/floe.fish",
	} {
		got, err := os.ReadFile(filepath.Join(files, "usr/share", at))
		if want := run(t, program, "completion", shell); err != nil || string(got) != want {
			t.Errorf("completions for %s: %v, or not what floe completion says", shell, err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(files, "usr/share/man/man1/floe*.1.gz"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d manual pages, %v", len(pages), err)
	}
	out := run(t, "man", append([]string{"--local-file", "--warnings=w"}, pages...)...)
	if n := strings.Count(out, "\nSYNOPSIS\n"); n != len(pages) || strings.Contains(out, "warning:") {
		t.Errorf("man shows %d of %d pages well:\n%s", n, len(pages), out)
	}
}

// A person installs the package, starts the service, reboots, meets a crash, upgrades and purges.
func isService(t *testing.T, deb string) {
	if os.Geteuid() != 0 {
		t.Log("not root: no container, so nothing to install into")
		return
	}
	c := newContainer(t)
	c.put(deb, "old.deb")
	c.put(build(t, "1.10.0"), "new.deb")
	c.put("../provision", "provision")
	c.boot()

	c.must("dpkg", "--install", "/old.deb")
	if out, err := c.try("systemctl", "is-active", "floe"); err == nil {
		t.Errorf("installing started the node: %s", out)
	}
	c.must("systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/floe.service")
	c.must("systemd-analyze", "security", "--no-pager", "--threshold=25", "floe.service") // exposure, times ten

	c.must("systemctl", "enable", "--now", "--quiet", "floe")
	c.awaitTopics("")
	c.must("floe", "create", "Alarms")
	c.reboot()
	c.awaitTopics("Alarms\n")

	first := c.pid()
	c.must("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "floe")
	c.await("the node to be started again", func() bool { pid := c.pid(); return pid != first && pid != "0" })
	c.awaitTopics("Alarms\n")

	c.must("sh", "-c", "echo 'log-level = \"debug\"' >>/etc/floe/floe.toml")
	first = c.pid()
	c.must("dpkg", "--install", "/new.deb")
	if c.pid() == first {
		t.Error("the old program still runs after the upgrade")
	}
	c.awaitTopics("Alarms\n")
	if out := c.must("floe", "status", "--json"); !strings.Contains(out, `"1.10.0"`) {
		t.Errorf("no version 1.10.0 after the upgrade in %s", out)
	}
	if out := c.must("cat", "/etc/floe/floe.toml"); !strings.Contains(out, "debug") {
		t.Errorf("the upgrade took the settings: %s", out)
	}

	c.must("systemctl", "stop", "floe")
	if out := c.must("systemctl", "show", "floe"); !strings.Contains(out, "\nResult=success\n") || !strings.Contains(out, "\nExecMainStatus=0\n") {
		t.Errorf("after a stop: %s", out)
	}
	c.must("systemctl", "start", "floe")
	c.awaitTopics("Alarms\n")
	c.must("dpkg", "--remove", "floe")
	if !c.has("var/lib/floe") || !c.has("etc/floe/floe.toml") {
		t.Error("a remove took data or settings; that is for a purge")
	}
	c.must("dpkg", "--purge", "floe")
	for _, path := range []string{"usr/bin/floe", "usr/lib/systemd/system/floe.service", "etc/floe", "etc/systemd/system/multi-user.target.wants/floe.service", "var/lib/floe"} {
		if c.has(path) {
			t.Errorf("/%s is there after a purge", path)
		}
	}

	c.must("/provision", "--id", "n1", "--ip", "127.0.0.1", "--network", "127.0.0.0/8", "--deb", "/new.deb")
	c.awaitTopics("")
	c.must("/provision", "--id", "n1", "--ip", "127.0.0.1", "--network", "127.0.0.0/8", "--deb", "/new.deb") // once more does no harm
	c.awaitTopics("")
	c.reboot()
	c.awaitTopics("")
}

// awaitTopics waits for the node to answer, with these topics.
func (c *container) awaitTopics(want string) {
	c.t.Helper()
	c.await("the node to have the topics "+want, func() bool {
		out, err := c.try("floe", "topics")
		return err == nil && out == want
	})
}

// pid is the process of the service, "0" where none runs.
func (c *container) pid() string {
	c.t.Helper()
	return strings.TrimSpace(c.must("systemctl", "show", "--property=MainPID", "--value", "floe"))
}
