package main

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"floe/routing"
)

// didYouMean ends a refusal of an unknown word with the known ones that are
// spelled almost like it; "" where there are none.
func didYouMean(word string, known iter.Seq[string]) string {
	near := routing.Near(word, known)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?"
}

// knownCommand refuses what stands where one of the commands below should.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(args[0], slices.Values(names)))
}

// flagError is the refusal of a flag.
func flagError(flags *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return usagef("%v", err)
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return usagef("%v%s", err, didYouMean("--"+unknown.GetSpecifiedName(), slices.Values(names)))
}
