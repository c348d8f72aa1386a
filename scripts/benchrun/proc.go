package main

import (
	"fmt"
	"os"
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
