// Command suite is what scripts/jepsen, scripts/cluster and scripts/fault run:
// failure runs of floe, and clusters for people to break by hand.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"floe/scripts/suite/lab"
)

// Exit codes.
const (
	exitKept        = 0
	exitBroken      = 1 // a promise is broken, or the run could not be carried out
	exitUsage       = 2
	exitInterrupted = 130
)

// errUsage is wrapped by errors that are the caller's.
var errUsage = errors.New("usage")

// errBroken says that a promise is broken; the report has said which.
var errBroken = errors.New("a promise is broken")

func main() {
	lab.ServeWire()
	lab.ServeTracer()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := dispatch(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(exitCode(err, interrupted))
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: jepsen, cluster or fault", errUsage)
	}
	if text, asked := help(args); asked {
		fmt.Println(text)
		return nil
	}
	switch args[0] {
	case "jepsen":
		return jepsen(ctx, args[1:])
	case "cluster":
		return clusterCommand(ctx, args[1:])
	case "fault":
		return faultCommand(args[1:])
	}
	return fmt.Errorf("%w: no command %q", errUsage, args[0])
}

// help returns the usage of the command that is asked for it.
func help(args []string) (text string, asked bool) {
	asked = slices.ContainsFunc(args[1:min(len(args), 4)], func(a string) bool { return a == "-h" || a == "--help" })
	return map[string]string{"jepsen": jepsenUsage, "cluster": clusterUsage, "fault": faultUsage}[args[0]], asked
}

func exitCode(err error, interrupted bool) int {
	switch {
	case interrupted:
		fmt.Fprintln(os.Stderr, "interrupted; everything is healed and removed")
		return exitInterrupted
	case err == nil:
		return exitKept
	case errors.Is(err, errBroken):
		return exitBroken
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	return exitBroken
}
