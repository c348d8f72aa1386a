package lab

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoDisk says that the nodes have no disks of their own.
var ErrNoDisk = errors.New("faults of the disk need root and a lab with disks: without them nodes can only be killed and paused")

// diskSize is the size of a node's disk. The file that holds it is sparse.
const diskSize = 256 << 20

// Requests of ioctl(2): linux/fs.h and fs/ext4/ext4.h.
const (
	fiFreeze     = 0xc0045877 // FIFREEZE
	fiThaw       = 0xc0045878 // FITHAW
	ext4Shutdown = 0x8004587d // EXT4_IOC_SHUTDOWN
	noLogFlush   = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH: nothing more reaches the disk, not even the journal
)

// disk is where the node's file system is mounted; image is the file with it.
func (n *Node) disk() string  { return filepath.Join(n.lab.dir, n.Name) }
func (n *Node) image() string { return n.disk() + ".img" }

// makeDisks gives each node a small file system of its own, which can be filled,
// frozen and have its power cut without anything else noticing.
func (l *Lab) makeDisks() error {
	if !l.Disks {
		return nil
	}
	for _, n := range l.Nodes {
		if err := n.makeDisk(); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) makeDisk() error {
	f, err := os.Create(n.image())
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(diskSize), f.Close(), os.Mkdir(n.disk(), 0o755)); err != nil {
		return err
	}
	// No blocks kept for root, so that full means full for everybody.
	if err := run("", "mkfs.ext4", "-q", "-m", "0", n.image()); err != nil {
		return err
	}
	return n.mount()
}

func (n *Node) mount() error { return run("", "mount", "-o", "loop", n.image(), n.disk()) }

// PowerCut ends the node as a power failure does: what it had not synced is
// gone. Start puts the power on again.
func (n *Node) PowerCut() error {
	if !n.lab.Disks {
		return ErrNoDisk
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	// The node must not see its disk fail, which no power failure shows.
	err := errors.Join(n.Process.signal(syscall.SIGSTOP), thaw(n.disk()))
	if mounted(n.disk()) { // else it is without power already
		flags := uint32(noLogFlush)
		err = errors.Join(err, ioctl(n.disk(), ext4Shutdown, uintptr(unsafe.Pointer(&flags))))
	}
	err = errors.Join(err, n.Process.signal(syscall.SIGKILL), n.Process.await(endLimit), n.stopTracer())
	if err != nil || !mounted(n.disk()) {
		return err
	}
	return errors.Join(unmount(n.disk()), released(n.image()))
}

// released waits until no loop device has the image any more. One that stays has the
// dead file system mounted in somebody's mount namespace, which copied it meanwhile:
// the next mount would be of that one.
func released(image string) error {
	for deadline := time.Now().Add(2 * time.Second); ; {
		devices, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
		if err != nil {
			return err
		}
		used := slices.ContainsFunc(devices, func(d string) bool {
			of, _ := os.ReadFile(d) // it may have gone
			return strings.TrimSpace(string(of)) == image
		})
		if !used {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is still mounted in another mount namespace, so its power can't be cut: end what runs there (lsns -t mnt)", image)
		}
		time.Sleep(10 * time.Millisecond) // nobody tells when it is free
	}
}

// powerOn mounts the disk again after a power cut, which replays its journal.
func (n *Node) powerOn() error {
	if !n.lab.Disks || mounted(n.disk()) {
		return nil
	}
	return n.mount()
}

// fillName is the file that takes the room.
const fillName = "filler"

// Fill leaves so many bytes free on the node's disk; Empty gives the room back.
// Both thaw a frozen disk.
func (n *Node) Fill(leave int64) error {
	if !n.lab.Disks {
		return ErrNoDisk
	}
	if err := errors.Join(n.Thaw(), n.powerOn()); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(n.disk(), fillName), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return fill(f, leave)
}

// fill makes f larger by ever smaller pieces until no more than leave bytes are
// free.
func fill(f *os.File, leave int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	for piece := int64(64 << 20); piece >= 4096; {
		var s unix.Statfs_t
		if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
			return err
		}
		if int64(s.Bavail)*s.Bsize-piece < leave {
			piece /= 2
			continue
		}
		switch err := unix.Fallocate(int(f.Fd()), 0, size, piece); {
		case errors.Is(err, unix.ENOSPC):
			piece /= 2
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("fill %s: %w", f.Name(), err)
		default:
			size += piece
		}
	}
	return nil
}

// Filled says whether Fill was called and Empty was not.
func (n *Node) Filled() bool {
	_, err := os.Stat(filepath.Join(n.disk(), fillName))
	return err == nil
}

// Empty removes what Fill made. Without it, it does nothing.
func (n *Node) Empty() error {
	if err := errors.Join(n.Thaw(), n.powerOn()); err != nil {
		return err
	}
	return ignoreMissing(os.Remove(filepath.Join(n.disk(), fillName)))
}

// Freeze lets no write to the node's disk return until Thaw.
func (n *Node) Freeze() error {
	if !n.lab.Disks {
		return ErrNoDisk
	}
	if err := n.powerOn(); err != nil {
		return err
	}
	if err := ioctl(n.disk(), fiFreeze, 0); err != nil && !errors.Is(err, unix.EBUSY) { // EBUSY: frozen already
		return err
	}
	return nil
}

// Thaw undoes Freeze; a disk that is not frozen is left alone.
func (n *Node) Thaw() error {
	if !n.lab.Disks {
		return nil
	}
	return thaw(n.disk())
}

// thaw does nothing where nothing is frozen, or mounted.
func thaw(dir string) error {
	if !mounted(dir) {
		return nil
	}
	if err := ioctl(dir, fiThaw, 0); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: not frozen
		return err
	}
	return nil
}

func ioctl(dir string, request, argument uintptr) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, argument); errno != 0 {
		return fmt.Errorf("ioctl %#x on %s: %w", request, dir, errno)
	}
	return nil
}

// unmount takes a file system away; mount(8) had its loop device go with it. It
// waits a little where somebody looks at a file.
func unmount(dir string) error {
	deadline := time.Now().Add(2 * time.Second)
	for {
		err := unix.Unmount(dir, 0)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
		time.Sleep(10 * time.Millisecond) // nobody tells when it is free
	}
}

func mounted(dir string) bool {
	points, err := mounts()
	return err == nil && slices.Contains(points, dir)
}

// unmountAll takes away whatever is mounted in a directory.
func unmountAll(dir string) error {
	points, err := mounts()
	errs := []error{err}
	for _, point := range slices.Backward(points) { // what was mounted last goes first
		if strings.HasPrefix(point, dir+"/") {
			err := errors.Join(thaw(point), unmount(point))
			if err != nil { // then it goes when the last file in it is closed
				err = unix.Unmount(point, unix.MNT_DETACH)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// mounts returns all mount points (proc_pid_mountinfo(5), field 5).
func mounts() ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			points = append(points, fields[4])
		}
	}
	return points, lines.Err()
}
