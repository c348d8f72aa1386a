// Command floe is a replicated home for IceStorm topics: one program that is
// a node (floe start) and everything one asks of nodes. See floe --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"floe/transport/http/api"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv})
	stop()
	os.Exit(code)
}

// stdio is what a command reads and writes, and its environment.
type stdio struct {
	in  io.Reader
	out io.Writer
	err io.Writer
	env func(name string) (value string, found bool)
}

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(settleNumbers(root, settleInsecure(args)))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return api.ExitDone
	}
	var silent *exitError
	if errors.As(err, &silent) {
		return silent.code
	}
	fmt.Fprintf(std.err, "error: %v\n", err)
	code := exitCode(err)
	if code == api.ExitUsage {
		fmt.Fprintf(std.err, "type `%s --help` for more\n", usedCommand(root, args))
	}
	return code
}
