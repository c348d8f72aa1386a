package lab_test

import (
	"os"
	"testing"

	"floe/scripts/suite/lab"
)

func TestMain(m *testing.M) {
	lab.ServeWire() // the tests' program is what a lab runs as its wire
	if os.Getenv("LAB_TICKER") != "" && len(os.Args) > 3 && os.Args[1] == "start" {
		tick()
		return
	}
	os.Exit(m.Run())
}
