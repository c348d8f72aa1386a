package e2e

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"floe/scripts/rmrapp"
)

// process is a stand-in for a program with the library: its listener has the library's queue of one, and it can stand
// still, as with SIGSTOP, while the system goes on taking what the queue holds.
type process struct{ *net.TCPListener }

func startProcess(t testing.TB) *process {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{l.(*net.TCPListener)}
	t.Cleanup(func() { p.Close() })
	return p
}

// run takes connections until the process is stopped or the test ends.
func (p *process) run(t testing.TB) {
	_ = p.SetDeadline(time.Time{})
	done := make(chan struct{})
	t.Cleanup(func() { p.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := p.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

func (p *process) stop() { _ = p.SetDeadline(time.Unix(1, 0)) }

// A member of a group that is dead, and one that merely stands still, are withdrawn from the tables of all applications, and
// come back once they answer; messages through floe pass them over.
func TestDeadMembersAreWithdrawn(t *testing.T) {
	t.Parallel()
	c := startThree(t, "--probe")
	still := startProcess(t)
	still.run(t)
	members := startApps(t, 4, func(i int) rmrapp.Config { return asking(c.Nodes[i%3], rmrapp.Config{}) })
	senders := startApps(t, 3, func(i int) rmrapp.Config { return asking(c.Nodes[i], rmrapp.Config{}) })
	dead, live := members[0], members[1:]
	alive := []string{live[0].ID(), live[1].ID(), live[2].ID()}
	all := append([]string{dead.ID(), still.Addr().String()}, alive...)
	loadRoutes(t, c.Nodes[0], fmt.Sprintf("newrt|start\nmse|1000|-1|%s,%s,%s,%s,%s\nnewrt|end|1\n", all[0], all[1], all[2], all[3], all[4]))
	in := func(what string, members ...string) {
		t.Helper()
		began := time.Now()
		for _, a := range senders {
			waitMembers(t, a, relayedType, members...)
		}
		t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond))
	}
	in("the table is there", all...)
	waitMetric(t, c.Nodes[1], func(v float64) bool { return v == 0 }, "floe_endpoints_withdrawn")
	if err := dead.RefuseData(true); err != nil {
		t.Fatal(err)
	}
	in("a dead member is withdrawn", all[1:]...)
	still.stop()
	in("one that stands still is withdrawn", alive...)
	for i := range 9 { // none is sent to those two
		sendTo(t, senders[0], rmrOf(c.Nodes[i%3]), message(relayedType, "x"))
	}
	waitReceived(t, live, 9)
	if err := dead.RefuseData(false); err != nil {
		t.Fatal(err)
	}
	in("the dead one is back", append([]string{dead.ID()}, alive...)...)
	still.run(t)
	in("the other one is back", all...)
}
