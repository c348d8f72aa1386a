package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"floe/fsm"
)

// version is set by the linker for releases (-X main.version=...).
var version = ""

func programCommands() []*command {
	return []*command{
		{name: "version", args: "", min: 0, max: 0, prints: true, local: true,
			short:   "print the version of this program",
			example: "floe version --json",
			run:     runVersion},
		{name: "completion", args: "bash|zsh|fish|powershell", min: 1, max: 1, local: true,
			short:   "print a script that completes commands, flags, topics, nodes and MEIDs in a shell",
			example: "source <(floe completion bash)",
			run:     runCompletion},
		{name: "reference", args: "", min: 0, max: 0, local: true,
			short:   "print the reference of all commands, as Markdown or manual pages",
			long:    "Print the reference of all commands with their flags, as Markdown; docs/commands.md is this.\nWith --man it is written as pages for man(1) instead, floe.1 and one for each command.",
			flags:   referenceFlags,
			example: "floe reference > commands.md\nfloe reference --man man1",
			run:     runReference},
	}
}

// programVersion is the version of this program, for people.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func runVersion(_ context.Context, s *session, _ *call) error {
	v := struct {
		Version        string `json:"version"`
		ClusterVersion int    `json:"cluster_version"`
		Go             string `json:"go"`
	}{programVersion(), fsm.ProgramVersion, runtime.Version()}
	return s.print(v, func() { s.say("floe %s, cluster version %d, %s", v.Version, v.ClusterVersion, v.Go) })
}

func runCompletion(_ context.Context, s *session, c *call) error {
	root := newRoot(s.stdio)
	switch c.args[0] {
	case "bash":
		return root.GenBashCompletionV2(s.out, true)
	case "zsh":
		return root.GenZshCompletion(s.out)
	case "fish":
		return root.GenFishCompletion(s.out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(s.out)
	}
	return usagef("`completion' knows bash, zsh, fish and powershell, not %q", c.args[0])
}
