package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Reaches says whether a TCP connection from this node to another is answered
// within the limit: the probe that shows what a fault does.
func (n *Node) Reaches(other *Node, limit time.Duration) (bool, error) {
	listener, err := other.Listen()
	if err != nil {
		return false, err
	}
	defer listener.Close()
	var conn net.Conn
	var failed error
	err = n.lab.within(n.Name, func() error {
		conn, failed = net.DialTimeout("tcp", listener.Addr().String(), limit)
		return nil
	})
	if err != nil {
		return false, err
	}
	if failed != nil {
		return false, nil // the kernel of a namespace answers unless it was cut
	}
	return true, conn.Close()
}

// Probe returns, for each pair of nodes, whether the first reaches the second.
// It asks all at once.
func (l *Lab) Probe(limit time.Duration) (map[string]bool, error) {
	out := map[string]bool{}
	var errs []error
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, from := range l.Nodes {
		for _, to := range l.Nodes {
			if from == to {
				continue
			}
			all.Go(func() {
				ok, err := from.Reaches(to, limit)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%s to %s: %w", from.Name, to.Name, err))
				}
				out[from.Name+">"+to.Name] = ok
			})
		}
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// Packet is one packet of a probe that arrived.
type Packet struct {
	Number int
	Took   time.Duration
	// Damaged tells that its bytes are not those that were sent.
	Damaged bool
}

// Send sends so many UDP packets from this node to another, a few milliseconds
// apart, and returns those that arrive, as they do, until all did or the limit
// has passed since the last was sent. They go to the peer port, which must be
// free.
func (n *Node) Send(to *Node, count int, limit time.Duration) ([]Packet, error) {
	var in net.PacketConn
	err := to.lab.within(to.Name, func() (err error) {
		in, err = net.ListenPacket("udp", to.Peer())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := n.Dial(context.Background(), "udp", in.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	defer out.Close()
	start := time.Now()
	sent := make([]time.Time, count)
	failed := make(chan error, 1)
	go func() { failed <- sendAll(out, in, sent, limit) }()
	packets := receiveAll(in, count, start)
	if err := <-failed; err != nil {
		return nil, err
	}
	for i, p := range packets {
		packets[i].Took = p.Took - sent[p.Number%count].Sub(start)
	}
	return packets, nil
}

// apart is the time between packets of a probe.
const apart = 3 * time.Millisecond

func sendAll(out net.Conn, in net.PacketConn, sent []time.Time, limit time.Duration) error {
	defer func() { _ = in.SetReadDeadline(time.Now().Add(limit)) }()
	for i := range sent {
		sent[i] = time.Now()
		if _, err := out.Write(probeBytes(i)); err != nil {
			return err
		}
		time.Sleep(apart)
	}
	return nil
}

// receiveAll returns packets with the time since start as what they took.
func receiveAll(in net.PacketConn, count int, start time.Time) []Packet {
	var packets []Packet
	buffer := make([]byte, 2048)
	for len(packets) < count {
		n, _, err := in.ReadFrom(buffer)
		if err != nil {
			return packets
		}
		number := int(buffer[0])<<8 | int(buffer[1])
		packets = append(packets, Packet{number, time.Since(start), !bytes.Equal(buffer[:n], probeBytes(number))})
	}
	return packets
}

// probeBytes is what the packet of that number says: the number, and more that
// follows from it.
func probeBytes(number int) []byte {
	b := make([]byte, 400)
	for i := range b {
		b[i] = byte(number >> (8 * (1 - i%2)))
	}
	return b
}

// Output runs a command in the hub, where clients sit, and returns what it
// printed. An error holds what it said on stderr.
func (l *Lab) Output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	if err := l.within(hub, cmd.Start); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said.String())
	}
	return out.String(), nil
}
