package docs_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"floe/scripts/floetest"
)

// TestProvisionedSettingsStartANode: the settings that scripts/provision writes are those of a node that starts.
func TestProvisionedSettingsStartANode(t *testing.T) {
	n := floetest.NewNode(t, "n1")
	dir := t.TempDir()
	network := netip.PrefixFrom(netip.MustParseAddr(n.IP), 24).Masked().String()
	cmd := exec.CommandContext(t.Context(), "../scripts/provision", "--id", "n1", "--ip", n.IP, "--network", network,
		"--join", net.JoinHostPort(n.IP, "7499"), "--root", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("provision: %v\n%s", err, out)
	}
	o := floetest.Floe(t, "start", "--config", filepath.Join(dir, "etc/floe/floe.toml"), "--data", filepath.Join(dir, "etc/floe/floe.toml"))
	if o.Exit != 1 { // the data directory is a file; settings that are wrong end with 2
		t.Errorf("start with the settings: exit %d\n%s", o.Exit, o.Stderr)
	}
}

// TestVagrantfileIsValid: Vagrant takes the Vagrantfile, for the number of machines that is asked for.
func TestVagrantfileIsValid(t *testing.T) {
	dir := t.TempDir()
	for to, from := range map[string]string{
		"Vagrantfile":                  "../Vagrantfile",
		"scripts/provision":            "../scripts/provision",
		"out/vagrant/floe_1_amd64.deb": "../README.md", // any file will do for a package
	} {
		to = filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(read(t, from)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "vagrant", "validate", "--ignore-provider")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "VAGRANT_HOME="+filepath.Join(dir, "home"), "VAGRANT_CHECKPOINT_DISABLE=1", "FLOE_NODES=5")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("vagrant validate: %v\n%s", err, out)
	}
	for i := range 5 {
		if want := fmt.Sprintf("==> n%d:", i+1); !strings.Contains(string(out), want) {
			t.Errorf("no machine n%d in\n%s", i+1, out)
		}
	}
}
