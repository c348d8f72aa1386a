package peers

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Service says where a topic service is: IceStorm or floe.
type Service struct {
	// Manager is the topic manager's proxy: `IceStorm/TopicManager:tcp -h 127.0.0.1 -p 10000`.
	Manager string
	// WS is the same by ws, for JavaScript; empty where the service does not listen there.
	WS string
	// Properties go to every client: `--Ice.Default.Locator=...`.
	Properties []string
	// Settle waits until the service knows what its other nodes were asked to do; nil where it has none.
	Settle func()
}

// Storm is a running stock IceStorm.
type Storm struct {
	Service
	// Finder is the HOST:PORT where IceStorm/Finder is.
	Finder string
	// Ports are the ports of topic manager and publishers (of the first replica).
	Ports string
	// PIDs are the processes: one, or one for each replica.
	PIDs []int

	*Process
}

// IceStorm starts a stock IceStorm and waits until it answers. The arguments are those of scripts/peers/icestorm:
// "Flush.Timeout=100", "--ws", "--replicas", "3".
func IceStorm(t testing.TB, args ...string) *Storm {
	t.Helper()
	tool(t, "icebox")
	p := start(t, script(t, "icestorm"), append([]string{"--until-eof"}, args...)...)
	p.WaitLine("ready")
	s := &Storm{Process: p, Service: Service{Manager: p.WaitLine("manager")}, Finder: p.WaitLine("finder")}
	s.Ports = p.WaitLine("ports")
	if slices.Contains(args, "--ws") {
		s.WS = p.WaitLine("ws")
	}
	s.PIDs = pids(t, p.Lines())
	return s
}

// SamePorts returns arguments for [IceStorm] that bring a server back at the addresses of this one.
func (s *Storm) SamePorts() []string {
	manager, publish, _ := strings.Cut(s.Ports, " ")
	return []string{"--port", manager, "--publish-port", publish}
}

// Registry is a running stock icegridregistry that lets every program register its adapters.
type Registry struct {
	// Locator is the value for Ice.Default.Locator.
	Locator string
	// PIDs holds the one process.
	PIDs []int

	*Process
}

// IceGridRegistry starts a stock icegridregistry and waits until it answers. The arguments are those of
// scripts/peers/icegridregistry: "--dir" and "--port" for one that comes back as it was.
func IceGridRegistry(t testing.TB, args ...string) *Registry {
	t.Helper()
	tool(t, "icegridregistry")
	p := start(t, script(t, "icegridregistry"), append([]string{"--until-eof"}, args...)...)
	p.WaitLine("ready")
	return &Registry{Process: p, Locator: p.WaitLine("locator"), PIDs: pids(t, p.Lines())}
}

// AdapterEndpoints asks the registry for an adapter's endpoints, as icegridadmin prints them; empty where it knows none.
func (r *Registry) AdapterEndpoints(t testing.TB, adapter string) string {
	t.Helper()
	cmd := exec.Command("timeout", "-s", "KILL", "10", tool(t, "icegridadmin"), "--Ice.Default.Locator="+r.Locator,
		"-u", "floe", "-p", "floe", "-e", "adapter endpoints "+adapter)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Kill ends the server's processes with SIGKILL, as a crash would, and waits until they are gone.
func (s *Storm) Kill() {
	s.signal(syscall.SIGKILL)
	<-s.done
}

// Freeze stops the server's processes (SIGSTOP) so that they neither answer nor close; Thaw lets them go on.
func (s *Storm) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Storm) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Storm) signal(signal syscall.Signal) {
	for _, pid := range s.PIDs {
		if err := syscall.Kill(pid, signal); err != nil {
			s.t.Errorf("icestorm: %v: %v", signal, err)
		}
	}
}

func pids(t testing.TB, lines []string) []int {
	t.Helper()
	var out []int
	for _, line := range lines {
		text, ok := strings.CutPrefix(line, "pid ")
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("pid: %v", err)
		}
		out = append(out, pid)
	}
	return out
}
