package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"floe/scripts/floetest"
)

func TestMain(m *testing.M) {
	// Most of these tests wait most of the time, so a few more than there are processors run side by side.
	_ = flag.Set("test.parallel", "4")
	code := floetest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
