package lab

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The wire stands between a node's cable and the bridge of the hub:
//
//	node --cable-- [bridge b-NODE] --TAP i-NODE-- wire --TAP o-NODE-- [bridge br0]
//
// Frames from the node pass. Frames to it are treated as the line says that
// leads there from their sender.

// wireReady is what the wire prints once it forwards.
const wireReady = "ready\n"

func sideBridge(node string) string { return "b-" + node }

// ServeWire turns this process into the wire of a lab where it was started as
// one, and does not return then. Programs that use [Lab.Spoil] call it first.
func ServeWire() {
	if len(os.Args) != 3 || os.Args[1] != wireArgument {
		return
	}
	number, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = serveWire(number)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serveWire(number int) error {
	l, err := load(number)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for _, n := range l.badly() {
		inner, outer, err := l.insert(n)
		if err != nil {
			return err
		}
		go func() { failed <- forward(inner, outer, nil) }()
		go func() { failed <- forward(outer, inner, l.lanes(n, inner)) }()
	}
	if _, err := fmt.Print(wireReady); err != nil {
		return err
	}
	return <-failed
}

// insert makes the TAP devices of a node and leads its cable through them.
func (l *Lab) insert(n *Node) (inner, outer *os.File, err error) {
	if inner, err = openTAP("i-" + n.Name); err != nil {
		return nil, nil, err
	}
	if outer, err = openTAP("o-" + n.Name); err != nil {
		return nil, nil, err
	}
	side := sideBridge(n.Name)
	return inner, outer, ipAll([]string{ // this process is in the hub
		"link add " + side + " type bridge",
		"link set " + side + " up",
		"link set i-" + n.Name + " master " + side + " up",
		"link set o-" + n.Name + " master br0 up",
		"link set " + n.Name + " master " + side,
	})
}

// openTAP makes a TAP device, which goes when the process ends. The kernel
// fills checksums in before it hands frames out, as for a real wire.
func openTAP(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("TAP device %s: %w", name, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // for Go's poller
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// lanes returns the bad lines to a node by the address they come from.
func (l *Lab) lanes(n *Node, to *os.File) map[[4]byte]*lane {
	lanes := map[[4]byte]*lane{}
	for name, quality := range l.into(n.Name) {
		from, err := l.Node(name)
		if err != nil {
			continue
		}
		one := newLane(quality, to)
		for _, host := range from.hosts() {
			lanes[inPackets(host)] = one
		}
	}
	return lanes
}

// forward copies frames, by lane where there is one for the sender.
func forward(from, to *os.File, lanes map[[4]byte]*lane) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return err
		}
		frame := buffer[:n]
		if sender, ok := sourceOf(frame); ok && lanes[sender] != nil {
			lanes[sender].take(frame)
			continue
		}
		_, _ = to.Write(frame) // what a device does not take is lost, as on a wire
	}
}

// lane is one bad line.
type lane struct {
	Quality
	to    *os.File
	queue chan held
}

// held is a frame that waits.
type held struct {
	due   time.Time
	frame []byte
}

// laneRoom is how many frames a line holds; what comes beyond is lost.
const laneRoom = 8192

// overtaken is how much later a frame is that others overtake.
const overtaken = 15 * time.Millisecond

func newLane(q Quality, to *os.File) *lane {
	l := &lane{Quality: q, to: to, queue: make(chan held, laneRoom)}
	go l.run()
	return l
}

// run sends frames when they are due, one after the other.
func (l *lane) run() {
	for h := range l.queue {
		time.Sleep(time.Until(h.due))
		_, _ = l.to.Write(h.frame)
	}
}

// take lets a frame suffer what it has to. The bytes are the caller's again
// afterwards.
func (l *lane) take(frame []byte) {
	if chance(l.Loss) {
		return
	}
	h := held{due: time.Now().Add(l.delay()), frame: append([]byte(nil), frame...)}
	if chance(l.Corrupt) {
		damage(h.frame, PeerPort)
	}
	if chance(l.Duplicate) {
		l.put(h)
	}
	if chance(l.Reorder) {
		time.AfterFunc(time.Until(h.due)+overtaken, func() { _, _ = l.to.Write(h.frame) })
		return
	}
	l.put(h)
}

// put has a frame wait behind those before it.
func (l *lane) put(h held) {
	select {
	case l.queue <- h:
	default:
	}
}

func (l *lane) delay() time.Duration {
	d := l.Delay
	if l.Jitter > 0 {
		d += rand.N(2*l.Jitter) - l.Jitter
	}
	return max(0, d)
}

func chance(percent int) bool { return rand.IntN(100) < percent }
