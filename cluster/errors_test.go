package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/cluster"
)

// A change that was handed to Raft before the quorum was lost may have taken
// effect: nobody may mistake it for one that failed for want of a quorum.
func TestUnknownOutcomeIsNoFailure(t *testing.T) {
	err := fmt.Errorf("create: %w", &cluster.Unknown{Cause: &cluster.NoQuorum{Voters: 3}})
	if errors.As(err, new(*cluster.NoQuorum)) {
		t.Errorf("%v: taken for a firm failure", err)
	}
	if !errors.As(err, new(*cluster.Unknown)) {
		t.Errorf("%v: not known as unknown", err)
	}
}

// Whoever finds a directory empty may have lost no data: it may be elsewhere.
func TestEmptiedDirectoryInWords(t *testing.T) {
	e := &cluster.DuplicateID{ID: "n3", Address: "h:1", Dir: "d", Detail: ", which does not answer"}
	if got := e.Error(); !strings.Contains(got, "a disk that is not mounted") || !strings.Contains(got, "floe remove n3 --force") {
		t.Error(got)
	}
	e.Detail = " which is running"
	if got := e.Error(); strings.Contains(got, "mounted") {
		t.Error(got)
	}
}
