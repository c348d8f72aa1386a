package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// machine describes where figures come from, without its name.
type machine struct {
	CPU        string  `json:"cpu"`
	Cores      int     `json:"cores"`
	MemoryMB   float64 `json:"memory_mb"`
	Kernel     string  `json:"kernel"`
	Go         string  `json:"go"`
	Ice        string  `json:"ice,omitempty"` // empty where it takes no part
	FileSystem string  `json:"file_system"`   // of the servers' data
	Load       string  `json:"load"`          // average over the minute before
}

// thisMachine looks around; what can't be found is called unknown.
func thisMachine(data string) machine {
	m := machine{
		CPU: cpuModel(readText("/proc/cpuinfo")), Cores: runtime.NumCPU(), Kernel: firstWord(readText("/proc/sys/kernel/osrelease")),
		Go: runtime.Version(), FileSystem: fileSystem(data), Load: firstWord(readText("/proc/loadavg")),
	}
	if kb, err := parseStatus(readText("/proc/meminfo"), "MemTotal"); err == nil {
		m.MemoryMB = kb * 1024 / 1e6
	}
	return m
}

func (m machine) String() string {
	ice := ""
	if m.Ice != "" {
		ice = ", Ice " + m.Ice
	}
	return fmt.Sprintf("Machine: %d cores of %s, %.1f GB, Linux %s, data on %s; %s%s; load before the run %s.",
		m.Cores, m.CPU, m.MemoryMB/1e3, m.Kernel, m.FileSystem, m.Go, ice, m.Load)
}

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

func firstWord(text string) string {
	if f := strings.Fields(text); len(f) > 0 {
		return f[0]
	}
	return "unknown"
}

// cpuModel finds the first `model name : TEXT`.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// iceVersion asks icebox, which prints the bare number on stderr.
func iceVersion() string {
	out, err := exec.Command("icebox", "--version").CombinedOutput()
	if err != nil {
		return "unknown"
	}
	return firstWord(string(out))
}

// fileSystem names the kinds a benchmark may meet, by the magic numbers of statfs(2).
func fileSystem(path string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return "unknown"
	}
	names := map[int64]string{0xef53: "ext4", 0x01021994: "tmpfs", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x794c7630: "overlayfs"}
	if name, ok := names[int64(s.Type)]; ok {
		return name
	}
	return fmt.Sprintf("file system %#x", s.Type)
}
