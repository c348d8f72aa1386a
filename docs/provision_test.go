package docs_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"floe/scripts/floetest"
)

// TestProvisionedSettingsStartANode: the settings that scripts/provision writes are those of a node that starts.
func TestProvisionedSettingsStartANode(t *testing.T) {
	n := floetest.NewNode(t, "n1")
	dir := t.TempDir()
	network := netip.PrefixFrom(netip.MustParseAddr(n.IP), 24).Masked().String()
	cmd := exec.CommandContext(t.Context(), "../scripts/provision", "--id", "n1", "--ip", n.IP, "--network", network,
		"--join", net.JoinHostPort(n.IP, "7499"), "--binary", "../scripts/provision", "--root", dir) // any file will do for a program
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("provision: %v\n%s", err, out)
	}
	for _, name := range []string{"usr/local/bin/floe", "etc/systemd/system/floe.service"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	o := floetest.Floe(t, "start", "--config", filepath.Join(dir, "etc/floe/floe.toml"), "--data", filepath.Join(dir, "etc/floe/floe.toml"))
	if o.Exit != 1 { // the data directory is a file; settings that are wrong end with 2
		t.Errorf("start with the settings: exit %d\n%s", o.Exit, o.Stderr)
	}
}
