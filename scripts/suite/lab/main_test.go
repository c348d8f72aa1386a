package lab_test

import (
	"os"
	"testing"

	"floe/scripts/suite/lab"
)

func TestMain(m *testing.M) {
	lab.ServeWire() // the tests' program is what a lab runs as its wire
	lab.ServeTracer()
	if os.Getenv("LAB_TICKER") != "" && len(os.Args) > 3 && os.Args[1] == "start" {
		tick()
		return
	}
	if os.Getenv("LAB_TOILER") != "" && len(os.Args) > 3 && os.Args[1] == "start" {
		toil()
		return
	}
	os.Exit(m.Run())
}
