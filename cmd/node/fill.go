package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherNames are names in the environment that mean a flag beside its own.
var otherNames = map[string]string{"seed-routes": "FLOE_SEED_RT"}

// notSettings are flags that no environment or file sets.
var notSettings = []string{"help", "config"}

// envName is a flag's name in the environment.
func envName(flag string) string {
	return "FLOE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fillIn gives flags that were not set on the command line the value of the
// environment or, failing that, of the configuration file.
func fillIn(cmd *cobra.Command, std stdio) error {
	file, err := readFile(cmd, std)
	if err != nil {
		return err
	}
	var first error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if first == nil && !f.Changed && !slices.Contains(notSettings, f.Name) {
			first = fillFlag(cmd.Flags(), f, std, file)
		}
	})
	return first
}

func fillFlag(flags *pflag.FlagSet, f *pflag.Flag, std stdio, file *settingsFile) error {
	for _, name := range []string{envName(f.Name), otherNames[f.Name]} {
		if text, ok := std.env(name); ok && name != "" {
			return setFlag(flags, f, text, name+" in the environment")
		}
	}
	if text, ok := file.values[f.Name]; ok {
		return setFlag(flags, f, text, fmt.Sprintf("key %s in %s", f.Name, file.path))
	}
	return nil
}

func setFlag(flags *pflag.FlagSet, f *pflag.Flag, text, from string) error {
	if err := f.Value.Set(text); err != nil {
		return usagef("%s: %v", from, err)
	}
	f.Changed = true
	return nil
}

// settingsFile is a configuration file: one value for each flag it names.
type settingsFile struct {
	path   string
	values map[string]string
}

// readFile reads the file that --config or FLOE_CONFIG names, if any. A key
// that is no flag of any command is refused.
func readFile(cmd *cobra.Command, std stdio) (*settingsFile, error) {
	path := cmd.Flag("config").Value.String()
	if path == "" {
		path, _ = std.env("FLOE_CONFIG")
	}
	if path == "" {
		return &settingsFile{}, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--config: %v", err)
	}
	var raw map[string]any
	if err := toml.Unmarshal(b, &raw); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, _ := bad.Position()
			return nil, usagef("--config %s: line %d is not TOML, in which text stands in quotes: %v", path, line, err)
		}
		return nil, usagef("--config %s: %v", path, err)
	}
	file := &settingsFile{path: path, values: map[string]string{}}
	known := flagNames(cmd.Root())
	for key, v := range raw {
		if !known[key] {
			return nil, usagef("--config %s: unknown key %q", path, key)
		}
		if file.values[key], err = tomlText(v); err != nil {
			return nil, usagef("--config %s: key %s: %v", path, key, err)
		}
	}
	return file, nil
}

// flagNames are the names of all flags of all commands.
func flagNames(cmd *cobra.Command) map[string]bool {
	names := map[string]bool{}
	note := func(f *pflag.Flag) {
		if !slices.Contains(notSettings, f.Name) {
			names[f.Name] = true
		}
	}
	cmd.Flags().VisitAll(note)
	for _, sub := range cmd.Commands() {
		for name := range flagNames(sub) {
			names[name] = true
		}
	}
	return names
}

// tomlText turns a TOML value into what the flag would be given; an array
// becomes a list with commas.
func tomlText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64, bool:
		return fmt.Sprint(v), nil
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			text, err := tomlText(p)
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("a %T is no value of a setting: text, whole numbers, true, false and lists of them are", v)
}
