package client

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
	const burst = 256 // what one read of a publisher's connection brings
	for n := 0; b.Loop(); n++ {
		ev, err := delivery.NewEvent(tail)
		if err != nil {
			b.Fatal(err)
		}
		topic.Publish(ev)
		if n%burst == 0 {
			st.pace()
		}
	}
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
