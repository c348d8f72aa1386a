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
	_, started, err := stat(pid)
	if err != nil {
		return process{}
	}
	return process{pid, started}
}

// stat reads state and start time (proc_pid_stat(5), fields 3 and 22).
func stat(pid int) (state byte, started uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	started, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0][0], started, err
}

// alive says whether the process is there and no zombie.
func (p process) alive() bool {
	if p.PID == 0 {
		return false
	}
	state, started, err := stat(p.PID)
	return err == nil && started == p.Started && state != 'Z' && state != 'X'
}

// paused says whether the process is stopped by a signal.
func (p process) paused() bool {
	state, started, err := stat(p.PID)
	return p.PID != 0 && err == nil && started == p.Started && state == 'T'
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
