package cluster_test

import (
	"errors"
	"fmt"
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
