package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ, 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpuTime returns what the processes have used together, in user and kernel mode, exact to a tick.
func cpuTime(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		used, err := parseStat(string(text))
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		sum += used
	}
	return sum, nil
}

// parseStat adds utime and stime, fields 14 and 15 of proc(5). The second field, the command in brackets, may itself
// hold blanks and brackets.
func parseStat(text string) (time.Duration, error) {
	i := strings.LastIndexByte(text, ')')
	f := strings.Fields(text[i+1:])
	if i < 0 || len(f) < 13 {
		return 0, fmt.Errorf("too short: %q", text)
	}
	var ticks int64
	for _, word := range f[11:13] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("not a number of ticks: %q", word)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// runTime is what all threads of the processes have used so far, exact to the nanosecond but without threads that
// have ended: it tells whether anything is going on.
func runTime(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(paths) == 0 {
			return 0, fmt.Errorf("process %d has ended", pid)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // a thread that ended just now
			}
			used, err := parseSchedstat(string(text))
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			sum += used
		}
	}
	return sum, nil
}

// parseSchedstat returns the first of three numbers: the time on a CPU, in nanoseconds.
func parseSchedstat(text string) (time.Duration, error) {
	f := strings.Fields(text)
	if len(f) != 3 {
		return 0, fmt.Errorf("not three numbers: %q", text)
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	return time.Duration(n), err
}

// memoryOf returns a field of /proc/PID/status, VmRSS or VmHWM, summed over the processes, in MB of 10^6 bytes.
func memoryOf(pids []int, field string) (float64, error) {
	sum := 0.0
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		kb, err := parseStatus(string(text), field)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/status: %w", pid, err)
		}
		sum += kb * 1024 / 1e6
	}
	return sum, nil
}

// parseStatus finds `Field:   123 kB`.
func parseStatus(text, field string) (float64, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == field+":" && f[2] == "kB" {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, fmt.Errorf("no %s", field)
}
