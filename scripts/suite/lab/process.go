package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a process that is told apart from a later one with its id.
type process struct {
	PID int `json:"pid"`
	// Started is the start time as the kernel counts it.
	Started uint64 `json:"started"`
}

func self() process { return find(os.Getpid()) }

// find returns the process of that id as it is now.
func find(pid int) process {
	s, err := readStat(pid)
	if err != nil {
		return process{}
	}
	return process{pid, s.started}
}

// stat is what the kernel says about a process (proc_pid_stat(5), fields 3, 20
// and 22).
type stat struct {
	state   byte
	threads int
	started uint64
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	threads, err := strconv.Atoi(fields[17])
	started, err2 := strconv.ParseUint(fields[19], 10, 64)
	return stat{fields[0][0], threads, started}, errors.Join(err, err2)
}

// alive says whether the process is there and holds anything. It may be a zombie
// already while a thread of it still ends, with its files open.
func (p process) alive() bool {
	if p.PID == 0 {
		return false
	}
	s, err := readStat(p.PID)
	gone := s.state == 'X' || s.state == 'Z' && s.threads <= 1
	return err == nil && s.started == p.Started && !gone
}

// paused says whether the process is stopped by a signal.
func (p process) paused() bool {
	s, err := readStat(p.PID)
	return p.PID != 0 && err == nil && s.started == p.Started && s.state == 'T'
}

// signal sends a signal; a process that is gone is left alone.
func (p process) signal(s syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to %d: %w", s, p.PID, err)
	}
	return nil
}

// await waits until the process is gone.
func (p process) await(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for p.alive() {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d is still there %s after its end was asked for", p.PID, limit)
		}
		time.Sleep(5 * time.Millisecond) // the kernel tells nobody but the parent
	}
	return nil
}
