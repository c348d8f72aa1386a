package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/schedule"
)

// Each bug has a run that is short enough, and is listed.
func TestPlanted(t *testing.T) {
	list := listPlanted()
	for _, b := range bugs {
		if !strings.Contains(list, b.name+" ") {
			t.Errorf("%s is not listed", b.name)
		}
		o := options{Workload: b.workload, Nemesis: []schedule.Kind{b.nemesis}, Nodes: 3, Time: plantedTime, Seed: b.seed}
		if len(o.schedule()) == 0 {
			t.Errorf("%s: no fault in its run", b.name)
		}
	}
	if plantedTime > 30*time.Second {
		t.Errorf("a run takes %s", plantedTime)
	}
	if err := plantedRun([]string{"nothing"}); !errors.Is(err, errUsage) {
		t.Errorf("an unknown bug: %v", err)
	}
}
