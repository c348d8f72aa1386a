package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// runFloe runs one command line in this process.
func runFloe(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing here may wait
	return runIn(ctx, env, args...)
}

// runFloeAt is runFloe for what asks a node.
func runFloeAt(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runIn(t.Context(), env, args...)
}

func runIn(ctx context.Context, env map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	lookup := func(name string) (string, bool) {
		v, found := env[name]
		return v, found
	}
	code = run(ctx, args, stdio{strings.NewReader(""), &out, &errs, lookup})
	return code, out.String(), errs.String()
}

// words are the words a command is called by.
func (c *command) words() []string {
	if c.parent != "" {
		return []string{c.parent, c.name}
	}
	return []string{c.name}
}

// The help of every command goes to stdout and ends with an example, which
// the command line itself understands.
func TestHelpEndsWithAnExample(t *testing.T) {
	for _, c := range commandTable() {
		code, out, errs := runFloe(t, nil, append(c.words(), "--help")...)
		_, example, found := strings.Cut(out, "\nExample:\n")
		if code != 0 || errs != "" || !found || !strings.HasPrefix(example, "  ") || !strings.HasSuffix(example, c.example[strings.LastIndex(c.example, "\n")+1:]+"\n") {
			t.Errorf("%s --help: code %d, stderr %q, stdout %s", c.name, code, errs, out)
		}
		if first, _, _ := strings.Cut(example, "\n"); !strings.Contains(first, strings.Join(c.words(), " ")) {
			t.Errorf("%s: the example %q is about something else", c.name, first)
		}
	}
}

// An empty value is a usage error for each flag of each command, never a crash.
func TestEmptyValuesAreUsageErrors(t *testing.T) {
	for _, c := range commandTable() {
		flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
		c.addFlags(flags, true)
		flags.Var(newText(""), "config", "")
		flags.VisitAll(func(f *pflag.Flag) {
			args := append(c.words(), "--"+f.Name+"=")
			for range c.min {
				args = append(args, "x")
			}
			code, _, errs := runFloe(t, nil, args...)
			if code != 2 || !strings.Contains(errs, f.Name) {
				t.Errorf("floe %q: code %d, %s", args, code, errs)
			}
		})
	}
	for _, args := range [][]string{{"admin", "-e", ""}, {"remove", ""}, {"transfer", ""}, {"unsubscribe", "A", ""}, {"join", ""}, {"clusters", "add", "", "h:1"}, {"clusters", "add", "x", ""}} {
		if code, _, errs := runFloe(t, nil, args...); code != 2 || strings.Contains(errs, "panic") {
			t.Errorf("floe %q: code %d, %s", args, code, errs)
		}
	}
}

// A flag counts more than the environment, and that more than the file.
func TestWhereSettingsComeFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "floe.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		file string
		env  map[string]string
		args []string
		want string // of --queue-bytes
		bad  string // what stderr says
	}{
		{name: "default", want: "16MiB"},
		{name: "file", file: `queue-bytes = "1MiB"`, want: "1MiB"},
		{name: "number in the file", file: `queue-bytes = 70000`, want: "70000"},
		{name: "environment over file", file: `queue-bytes = "1MiB"`, env: map[string]string{"FLOE_QUEUE_BYTES": "2MiB"}, want: "2MiB"},
		{name: "flag over both", file: `queue-bytes = "1MiB"`, env: map[string]string{"FLOE_QUEUE_BYTES": "2MiB"}, args: []string{"--queue-bytes", "3MiB"}, want: "3MiB"},
		{name: "keys of other commands are known", file: "addr = \"h:1\"\nqueue-bytes = 5", want: "5"},
		{name: "unknown key", file: `queue-byte = 5`, bad: `unknown key "queue-byte"`},
		{name: "table", file: "[queue]\nbytes = 5", bad: `unknown key "queue"`},
		{name: "not TOML", file: `queue-bytes = `, bad: "--config"},
		{name: "bad value in the file", file: `queue-bytes = "x"`, bad: "key queue-bytes in"},
		{name: "float in the file", file: `queue-bytes = 1.5`, bad: "no value of a setting"},
		{name: "bad value in the environment", env: map[string]string{"FLOE_QUEUE_BYTES": "x"}, bad: "FLOE_QUEUE_BYTES in the environment"},
		{name: "empty in the environment", env: map[string]string{"FLOE_QUEUE_BYTES": ""}, bad: "FLOE_QUEUE_BYTES in the environment"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			root := newRoot(stdio{env: func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }})
			cmd, _, err := root.Find([]string{"start"})
			if err != nil {
				t.Fatal(err)
			}
			if tt.file != "" {
				write(tt.file)
				tt.args = append(tt.args, "--config", file)
			}
			if err := cmd.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			err = cmd.PreRunE(cmd, nil)
			got = cmd.Flag("queue-bytes").Value.String()
			switch {
			case tt.bad == "" && (err != nil || got != tt.want):
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			case tt.bad != "" && (err == nil || !strings.Contains(err.Error(), tt.bad) || exitCode(err) != 2):
				t.Errorf("got %v, want a usage error with %q", err, tt.bad)
			}
		})
	}
}

// A list in the file is a list with commas; other names in the environment work.
func TestListsAndOtherNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "floe.toml")
	if err := os.WriteFile(file, []byte("join = [\"a:1\", \"b:2\"]\nnon-voter = true\ninsecure = [\"peer\", \"http\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot(stdio{env: func(name string) (string, bool) {
		return map[string]string{"FLOE_SEED_RT": "routes", "FLOE_CONFIG": file}[name], name == "FLOE_SEED_RT" || name == "FLOE_CONFIG"
	}})
	cmd, _, err := root.Find([]string{"start"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.PreRunE(cmd, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"join", "non-voter", "insecure", "seed-routes"} {
		got[name] = cmd.Flag(name).Value.String()
	}
	if d := cmp.Diff(map[string]string{"join": "a:1,b:2", "non-voter": "true", "insecure": "peer,http", "seed-routes": "routes"}, got); d != "" {
		t.Error(d)
	}
}

func TestNegativeNumbersAreArguments(t *testing.T) {
	tests := []struct{ in, want string }{
		{"link A B 3", "link A B 3"},
		{"link A B -3", "link -- A B -3"},
		{"link A B -3 --replace", "link --replace -- A B -3"},
		{"link --addr h:1 A B -3", "link --addr h:1 -- A B -3"},
		{"link --addr=h:1 A B -3 --timeout 1s", "link --addr=h:1 --timeout 1s -- A B -3"},
		{"link -- -A B -3", "link -- -A B -3"},
		{"link A -1 -- -B --x", "link -- A -1 -B --x"},
		{"pub A --cost -3 x", "pub A --cost -3 x"},
		{"pub A --cost -3 -4", "pub --cost -3 -- A -4"},
		{"create -5", "create -- -5"},
		{"topics", "topics"},
		{"nonsense -3", "nonsense -3"},
		{"-3", "-3"},
	}
	for _, tt := range tests {
		got := strings.Join(settleNumbers(newRoot(stdio{}), strings.Fields(tt.in)), " ")
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

// All flags of the design are there.
func TestFlagsOfTheDesign(t *testing.T) {
	const all = `data id bind advertise peer ice ice-ssl ice-ws ice-wss rmr rmr-topics rtg nbi http ice-published rmr-published
		rtg-published nbi-config allow-from insecure non-voter join join-token bootstrap-expect flush-interval discard-interval send-timeout queue-events
		queue-bytes queue-policy message-size-max timing disk-stall snapshot-threshold snapshot-interval auto-remove auto-remove-min
		ice-instance ice-locator ice-adapter-id ice-config seed-routes probe refuse-reserved rtg-chunk app-expire log-level
		log-format tls-cert tls-key tls-ca ice-tls-cert ice-tls-key ice-tls-ca gossip-key-file`
	flags := pflag.NewFlagSet("start", pflag.ContinueOnError)
	startFlags(flags)
	for _, name := range strings.Fields(all) {
		if flags.Lookup(name) == nil {
			t.Errorf("no flag --%s", name)
		}
	}
	for _, bad := range []string{"--auto-remove=59s", "--auto-remove=on", "--auto-remove-min=0"} {
		if err := flags.Parse([]string{bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if err := flags.Parse([]string{"--auto-remove=off"}); err != nil {
		t.Error(err)
	}
}
