package web

import (
	"os"
	"strings"
	"testing"
)

// The lock file must do with any registry.
func TestLockFileNamesNoHost(t *testing.T) {
	lock, err := os.ReadFile("browser/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(lock); strings.Contains(text, "resolved") || strings.Contains(text, "://") || !strings.Contains(text, "sha512-") {
		t.Errorf("package-lock.json: has an address, or no checksum:\n%s", text)
	}
}
