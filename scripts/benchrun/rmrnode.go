package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"floe/transport/http/client"
)

// requestLimit bounds a request of the API.
const requestLimit = 60 * time.Second

// chooseRMR makes sure that there are programs to run.
func (b *bench) chooseRMR(ctx context.Context) error {
	program, err := b.program(ctx)
	b.sides[0] = system{name: "floe", start: func(context.Context, string) (*server, error) {
		return nil, errors.New("these rows start their nodes themselves")
	}}
	b.floePath = program
	if b.peer != "" {
		b.sides[1] = system{name: "applications directly"}
	}
	b.routingTest = filepath.Join(b.temp, "routing.test")
	return errors.Join(err, b.tool(ctx, "go", "test", "-c", "-o", b.routingTest, "./routing"))
}

// launchRMR starts a new cluster of n nodes with the listeners of RMR, and returns once all of them take changes.
func (b *bench) launchRMR(ctx context.Context, n int) (*fleet, error) {
	dir, err := os.MkdirTemp(b.temp, "data")
	if err != nil {
		return nil, err
	}
	f := &fleet{dir: dir}
	ports, err := freePorts(5 * n)
	if err != nil {
		return nil, err
	}
	var peers []string
	for i := range n {
		peers = append(peers, "127.0.0.1"+ports[5*i])
	}
	for i := range n {
		s, err := b.startRMR(filepath.Join(dir, strconv.Itoa(i)), i, peers, ports[5*i:])
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.servers = append(f.servers, s)
	}
	for _, s := range f.servers {
		if err := await(ctx, s.child, readyz, s.http); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

// startRMR starts the i-th node. ports are for peers, Ice, the API, messages and tables.
func (b *bench) startRMR(dir string, i int, peers, ports []string) (*server, error) {
	args := []string{"start", "--id", fmt.Sprintf("n%d", i+1), "--data", dir, "--bind", "127.0.0.1", "--log-level", "warn",
		"--peer", ports[0], "--ice", ports[1], "--http", ports[2], "--rmr", ports[3], "--rtg", ports[4], "--rmr-topics", "off"}
	if len(peers) > 1 {
		args = append(args, "--join", strings.Join(peers, ","), "--bootstrap-expect", strconv.Itoa(len(peers)))
	}
	c, err := startChild(b.floePath, args...)
	if err != nil {
		return nil, err
	}
	at := func(port string) string { return "127.0.0.1" + port }
	return &server{child: c, pid: c.cmd.Process.Pid, http: at(ports[2]), rmr: at(ports[3]), rtg: at(ports[4])}, nil
}

// api is a client of one node; Close it.
func (s *server) api() *client.Client {
	return client.New(client.Config{Addresses: []string{s.http}, Timeout: requestLimit})
}

// leader returns the node that leads and the others.
func (f *fleet) leader(ctx context.Context) (*server, []*server, error) {
	api := f.servers[0].api()
	defer api.Close()
	status, err := api.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range f.servers {
		if status.Leader == fmt.Sprintf("n%d", i+1) {
			return s, append(append([]*server(nil), f.servers[:i]...), f.servers[i+1:]...), nil
		}
	}
	return nil, nil, fmt.Errorf("no leader: %q", status.Leader)
}

// load has a node load routes.
func (s *server) load(ctx context.Context, text string) error {
	api := s.api()
	defer api.Close()
	_, err := api.LoadRoutes(ctx, text, nil)
	return err
}
