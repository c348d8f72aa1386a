package web

import (
	"os"
	"testing"

	"floe/scripts/floetest"
)

func TestMain(m *testing.M) { os.Exit(floetest.Main(m)) }
