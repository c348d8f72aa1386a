package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoClock says that the nodes' clocks can't be moved.
var ErrNoClock = errors.New("clocks can be moved as root on amd64, in a lab with clocks")

// clocksHere says whether this machine can give processes a clock of their own.
func clocksHere() bool { return runtime.GOARCH == "amd64" && os.Geteuid() == 0 }

// A program reads the time with clock_gettime, a function of the vdso, which the
// kernel maps into each process (vdso(7)). clockCode takes its place: it asks the
// kernel and adds to the wall clock, and only to it, as many seconds as stand at
// its end. The program and its libraries are the shipped ones, and nothing else
// on the machine sees another time.
//
//	mov  eax, 228            clock_gettime
//	syscall
//	test edi, edi            CLOCK_REALTIME is 0
//	jnz  done
//	mov  rcx, [rip+6]        the seconds
//	add  [rsi], rcx          timespec.tv_sec
//	done: ret
//	nop ...
var clockCode = []byte{
	0xb8, 0xe4, 0, 0, 0,
	0x0f, 0x05,
	0x85, 0xff,
	0x75, 0x0a,
	0x48, 0x8b, 0x0d, 6, 0, 0, 0,
	0x48, 0x01, 0x0e,
	0xc3,
	0x90, 0x90,
}

// clockRoom is how much of the function is overwritten: the code and the seconds.
var clockRoom = uint64(len(clockCode)) + 8

// SetClock moves the node's wall clock away from the machine's, in whole
// seconds; 0 takes that back. It stays so when the node starts again.
func (n *Node) SetClock(offset time.Duration) error {
	if !n.lab.Clocks {
		return ErrNoClock
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(func() { n.Offset = offset })
	if n.Process.alive() {
		if err := n.Process.setClock(offset); err != nil {
			return fmt.Errorf("clock of %s: %w", n.Name, err)
		}
	}
	return n.lab.save()
}

// installClock gives a process that has not begun yet the code above.
func (p process) installClock() error {
	at, room, err := p.clockFunction()
	if err != nil {
		return err
	}
	if room < clockRoom {
		return fmt.Errorf("clock_gettime has %d bytes here, %d are needed", room, clockRoom)
	}
	return p.poke(at, clockCode)
}

// setClock writes the seconds: eight aligned bytes, which change as one.
func (p process) setClock(offset time.Duration) error {
	at, _, err := p.clockFunction()
	if err != nil {
		return err
	}
	if there, err := p.peek(at, len(clockCode)); err != nil || !bytes.Equal(there, clockCode) {
		return errors.Join(errors.New("the process does not have the clock that it was started with"), err)
	}
	seconds := binary.LittleEndian.AppendUint64(nil, uint64(offset/time.Second))
	return p.poke(at+uint64(len(clockCode)), seconds)
}

func (p process) poke(at uint64, b []byte) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.PID), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(b, int64(at))
	return err
}

func (p process) peek(at uint64, count int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.PID))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, count)
	_, err = f.ReadAt(b, int64(at))
	return b, err
}

// clockFunction returns where the process has clock_gettime and how long it is.
func (p process) clockFunction() (at, size uint64, err error) {
	from, to, err := p.vdso()
	if err != nil {
		return 0, 0, err
	}
	image, err := p.peek(from, int(to-from))
	if err != nil {
		return 0, 0, err
	}
	parsed, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, 0, fmt.Errorf("vdso: %w", err)
	}
	symbols, err := parsed.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return from + s.Value, s.Size, nil
		}
	}
	return 0, 0, errors.Join(errors.New("vdso without clock_gettime"), err)
}

// vdso returns the addresses of the process's vdso (proc_pid_maps(5)).
func (p process) vdso() (from, to uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			continue
		}
		low, rest, _ := strings.Cut(line, "-")
		high, _, _ := strings.Cut(rest, " ")
		from, err := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		return from, to, errors.Join(err, err2)
	}
	return 0, 0, fmt.Errorf("process %d has no vdso", p.PID)
}

// release lets a process go on that stopped at its first instruction, since it
// was started traced (ptrace(2)). It is for the thread that started it.
func release(pid int, before func(process) error) error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return fmt.Errorf("wait for the first instruction: %w", err)
	}
	if !status.Stopped() {
		return fmt.Errorf("the program ended before its first instruction: status %#x", int(status))
	}
	err := before(find(pid))
	return errors.Join(err, unix.PtraceDetach(pid))
}
