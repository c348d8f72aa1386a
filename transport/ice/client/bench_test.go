package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// sinkEnv makes the test program a process that throws away what comes in,
// so that its CPU time is not that of the benchmark.
const sinkEnv = "FLOE_TEST_SINKS"

func runSinks(n int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Println(l.Addr().(*net.TCPAddr).Port)
		go func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				nc.Write(proto.AppendValidate(nil))
				go io.Copy(struct{ io.Writer }{io.Discard}, nc)
			}
		}()
	}
	io.Copy(io.Discard, os.Stdin)
}

// sinks starts that process and returns its endpoints.
func sinks(b *testing.B, n int) []proto.Endpoint {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), sinkEnv+"="+strconv.Itoa(n))
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	list := make([]proto.Endpoint, n)
	for i := range list {
		list[i] = proto.Endpoint{Type: proto.EndpointTCP, Host: "127.0.0.1"}
		fmt.Fscan(out, &list[i].Port)
	}
	return list
}

func cpuTime() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOneway publishes events to subscribers in another process and
// waits until they are written. cpu-ns/event is the CPU time of this process,
// kernel included.
func BenchmarkOneway(b *testing.B) {
	for _, receivers := range []int{1, 8} {
		for _, size := range []int{16, 256, 4096} {
			b.Run(fmt.Sprintf("%d/%dB", receivers, size), func(b *testing.B) { benchmarkOneway(b, receivers, size) })
		}
	}
}

func benchmarkOneway(b *testing.B, receivers, size int) {
	endpoints := sinks(b, receivers)
	st := newStand(b, Config{}, delivery.Config{})
	for i := range endpoints {
		st.group.subscribe(strconv.Itoa(i), proxyTo(proto.Oneway, endpoints[i]))
	}
	encaps, at := proto.BeginEncapsulation(nil, proto.Encoding11)
	encaps = proto.EndEncapsulation(append(encaps, strings.Repeat("x", size)...), at)
	tail := proto.AppendTail(nil, "message", 0, nil, encaps)
	topic := st.Topic("a")
	b.ReportAllocs()
	start := cpuTime()
	const together = 256 // what one read of a publisher's connection brings
	var burst delivery.Burst
	for n := 0; b.Loop(); n++ {
		ev, err := delivery.NewEvent(tail)
		if err != nil {
			b.Fatal(err)
		}
		topic.Publish(ev, &burst)
		if n%together == 0 {
			burst.Flush()
			st.pace()
		}
	}
	burst.Flush()
	for st.queued() > 0 {
	}
	b.ReportMetric((cpuTime()-start)/float64(b.N), "cpu-ns/event")
	if lost := st.Stats().Total.Lost(); lost > 0 {
		b.Errorf("%d events were lost", lost)
	}
}

// pace waits while the queues are rather full: a publisher's program would
// be no faster than the network.
func (s *stand) pace() {
	for s.queued() > 1500 {
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 50})
	}
}

func (s *stand) queued() (most uint64) {
	for _, topic := range s.Stats().Topics {
		for _, r := range topic.Receivers {
			most = max(most, r.Queued)
		}
	}
	return most
}

// BenchmarkLink forwards events over a link to a topic in this process, so
// its CPU time holds that of a receiver that only answers.
func BenchmarkLink(b *testing.B) {
	for _, size := range []int{16, 256, 4096} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			endpoint := answerer(b)
			st := newStand(b, Config{}, delivery.Config{})
			p := proto.NewProxy(proto.Identity{Name: "topic.b", Category: "IceStorm"}, endpoint)
			st.group.linkTo(topics.Remote{Identity: topics.Identity(p.Identity), Proxy: proto.AppendProxy(nil, &p, proto.Encoding11)})
			encaps, at := proto.BeginEncapsulation(nil, proto.Encoding11)
			encaps = proto.EndEncapsulation(append(encaps, strings.Repeat("x", size)...), at)
			tail := proto.AppendTail(nil, "message", 0, nil, encaps)
			topic := st.Topic("a")
			b.ReportAllocs()
			start := cpuTime()
			for n := 0; b.Loop(); n++ {
				ev, _ := delivery.NewEvent(tail)
				topic.Publish(ev, nil)
				if n%256 == 0 {
					st.pace()
				}
			}
			for st.queued() > 0 {
			}
			b.ReportMetric((cpuTime()-start)/float64(b.N), "cpu-ns/event")
			if lost := st.Stats().Total.Lost(); lost > 0 {
				b.Errorf("%d events were lost", lost)
			}
		})
	}
}

// answerer is a topic and its link: it answers all it is asked.
func answerer(b *testing.B) (e proto.Endpoint) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	e = proto.Endpoint{Type: proto.EndpointTCP, Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port)}
	p := proto.NewProxy(proto.Identity{Name: "b.link"}, e)
	done := make(chan struct{})
	b.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		nc.Write(proto.AppendValidate(nil))
		for r := bufio.NewReader(nc); ; {
			message, h, err := readWhole(r)
			var q proto.Request
			if err != nil || h.Type != proto.MessageRequest || proto.ParseRequest(message[proto.HeaderSize:], &q) != nil {
				return
			}
			reply, at := proto.BeginResult(nil, q.ID, proto.Encoding11)
			if string(q.Operation) == "getLinkProxy" {
				reply = proto.AppendProxy(reply, &p, proto.Encoding11)
			}
			nc.Write(proto.EndResult(reply, at))
		}
	}()
	return e
}
