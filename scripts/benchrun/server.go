package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// server is one running topic service.
type server struct {
	manager string // proxy of its topic manager
	pid     int
	// HOST:PORT of the API, of messages and of tables; of RMR rows.
	http, rmr, rtg string
	// From its start to its first answer to an Ice client, and until it takes changes; floe only.
	answered, ready time.Duration
	*child
}

// system starts servers of one kind.
type system struct {
	name string
	// start runs a server whose data lives in dir, and returns once it serves.
	start func(ctx context.Context, dir string) (*server, error)
}

// iceStorm is the stock service, in a process of its own.
func iceStorm(name string) system {
	return system{name: name, start: func(ctx context.Context, dir string) (*server, error) {
		c, err := startChild(filepath.Join("scripts", "peers", "icestorm"), "--until-eof", "--dir", dir)
		if err != nil {
			return nil, err
		}
		s := &server{child: c}
		if err := s.introduce(ctx); err != nil {
			return nil, errors.Join(err, c.stop())
		}
		return s, nil
	}}
}

// introduce reads what scripts/peers/icestorm says of its server.
func (s *server) introduce(ctx context.Context) error {
	manager, err := s.line(ctx, "manager")
	if err != nil {
		return err
	}
	pid, err := s.line(ctx, "pid")
	if err != nil {
		return err
	}
	s.manager = strings.TrimPrefix(manager, "manager ")
	if s.pid, err = strconv.Atoi(strings.TrimPrefix(pid, "pid ")); err != nil {
		return err
	}
	_, err = s.line(ctx, "ready")
	return err
}

// floe is a one-node cluster on 127.0.0.1 with the flags given beside those that place it.
func floe(program string, flags ...string) system {
	return system{name: "floe", start: func(ctx context.Context, dir string) (*server, error) {
		ports, err := freePorts(3)
		if err != nil {
			return nil, err
		}
		args := []string{"start", "--data", dir, "--bind", "127.0.0.1", "--log-level", "warn",
			"--ice", ports[0], "--peer", ports[1], "--http", ports[2], "--rmr", "off", "--rmr-topics", "off", "--rtg", "off"}
		begin := time.Now()
		c, err := startChild(program, slices.Concat(args, flags)...)
		if err != nil {
			return nil, err
		}
		s := &server{child: c, pid: c.cmd.Process.Pid}
		s.manager = "IceStorm/TopicManager:tcp -h 127.0.0.1 -p " + strings.TrimPrefix(ports[0], ":")
		if err := s.await(ctx, begin, "127.0.0.1"+ports[0], "127.0.0.1"+ports[2]); err != nil {
			return nil, errors.Join(err, c.stop())
		}
		return s, nil
	}}
}

// await waits until floe answers Ice clients, which it does first, and then until it takes changes.
func (s *server) await(ctx context.Context, begin time.Time, ice, http string) error {
	if err := await(ctx, s.child, ping, ice); err != nil {
		return err
	}
	s.answered = time.Since(begin)
	if err := await(ctx, s.child, readyz, http); err != nil {
		return err
	}
	s.ready = time.Since(begin)
	return nil
}

// freePorts returns ports of 127.0.0.1 that are free for tcp and udp now, each as ":port".
func freePorts(n int) ([]string, error) {
	var out []string
	for range 10 * n {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer tcp.Close()
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err != nil {
			continue
		}
		defer udp.Close()
		out = append(out, ":"+strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port))
		if len(out) == n {
			return out, nil
		}
	}
	return nil, fmt.Errorf("127.0.0.1: no %d ports that are free for tcp and udp", n)
}

// fleet is the servers of one run with the folder of their data; close ends and removes all.
type fleet struct {
	servers []*server
	dir     string
}

// launch starts n servers of a kind.
func (b *bench) launch(ctx context.Context, kind system, n int) (*fleet, error) {
	dir, err := os.MkdirTemp(b.temp, "data")
	if err != nil {
		return nil, err
	}
	f := &fleet{dir: dir}
	for i := range n {
		s, err := kind.start(ctx, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.servers = append(f.servers, s)
	}
	return f, nil
}

func (f *fleet) close() error {
	var errs []error
	for _, s := range f.servers {
		if s.ended() {
			errs = append(errs, s.failed("ended during the run"))
		}
		errs = append(errs, s.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(f.dir))...)
}

func (f *fleet) pids() []int {
	var out []int
	for _, s := range f.servers {
		out = append(out, s.pid)
	}
	return out
}

// cpu returns what all servers have used so far.
func (f *fleet) cpu() (time.Duration, error) { return cpuTime(f.pids()) }
