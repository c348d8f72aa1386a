package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"floe/cluster/logstore"
	"floe/transport/http/api"
)

// failure is an error of a command that ran. Whatever else cobra returns is
// about the command line itself.
type failure struct{ error }

// Unwrap returns the error.
func (f failure) Unwrap() error { return f.error }

// usageError says that the command line was wrong.
type usageError struct{ text string }

// Error is the text.
func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// exitError ends the program with a code; what there is to say was said.
type exitError struct{ code int }

// Error is for the log only.
func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// exitCode returns what the program ends with after an error: the one of the
// error's kind, 1 for a failed command without a kind, 2 for everything that
// happened before the command ran.
func exitCode(err error) int {
	var usage *usageError
	var kind *api.Error
	var ran failure
	var storage *logstore.FailedError
	switch {
	case errors.As(err, &usage):
		return api.ExitUsage
	case errors.As(err, &kind):
		return kind.Kind.Exit()
	case errors.As(err, &storage):
		return api.ExitStorage
	case errors.As(err, &ran):
		return api.ExitRefused
	}
	return api.ExitUsage
}

// usedCommand is the command the user meant, as far as that can be told.
func usedCommand(root *cobra.Command, args []string) string {
	if cmd, _, err := root.Find(args); err == nil {
		return cmd.CommandPath()
	}
	return root.CommandPath()
}
