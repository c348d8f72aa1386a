package main

import (
	"errors"
	"fmt"
	"testing"

	"floe/cluster/logstore"
	"floe/transport/http/api"
)

// Scripts and service managers act on these.
func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		1: failure{errors.New("refused")},
		2: errors.New("unknown flag"),
		3: failure{&api.Error{Kind: api.UnknownOutcome}},
		4: failure{&api.Error{Kind: api.NoQuorum}},
		5: failure{&api.Error{Kind: api.NoSpace}},
		6: failure{fmt.Errorf("node n1: %w", &logstore.FailedError{Op: "append", Err: errors.New("input/output error")})},
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}
