package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"floe/scripts/suite/history"
)

const (
	// adminPace is how often an icestormadmin is started at each node.
	adminPace = 1500 * time.Millisecond
	// adminLimit is how long it may run: it has no limit of its own, and some
	// inputs make it ignore SIGTERM, so it ends by SIGKILL.
	adminLimit = 10 * time.Second
)

// adminWorker works on the graph through the stock icestormadmin, one process
// for each operation.
type adminWorker struct {
	graph   *Graph
	node    Node
	process string
	random  *rand.Rand
	topics  []string // made by this worker for certain
}

func (a *adminWorker) step() {
	switch roll := a.random.IntN(10); {
	case roll < 5 || len(a.topics) < 2:
		a.create()
	case roll < 6:
		a.destroy()
	default:
		a.link()
	}
}

func (a *adminWorker) create() {
	name := a.graph.pool.fresh("admin")
	if a.do("create", name, nil, "create "+name) {
		a.topics = append(a.topics, name)
	}
}

func (a *adminWorker) destroy() {
	if name, ok := take(&a.topics, a.random); ok {
		a.do("destroy", name, nil, "destroy "+name)
	}
}

func (a *adminWorker) link() {
	from, to := a.topics[a.random.IntN(len(a.topics))], a.topics[a.random.IntN(len(a.topics))]
	cost := int32(a.random.IntN(20) - 5)
	key := from + ">" + to
	if a.graph.pool.first(key) {
		a.do("link", key, &history.Value{Cost: cost}, fmt.Sprintf("link %s %s %d", from, to, cost))
	}
}

// do runs one command and records how it ended.
func (a *adminWorker) do(function, key string, v *history.Value, command string) bool {
	p := a.graph.Log.Invoke(a.process, a.node.Name, function, key, v)
	text, err := a.run(command)
	switch {
	case err == nil && text == "":
		p.OK(nil)
		return true
	case refusedByAdmin(text):
		p.Fail(text)
	default:
		p.Info(strings.TrimSpace(fmt.Sprintf("%s %v", text, err)))
	}
	return false
}

// run returns what icestormadmin complained about; an error where it could not
// be started or was killed.
func (a *adminWorker) run(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminLimit) // an operation under way is waited for
	defer cancel()
	proxy := fmt.Sprintf("IceStorm/TopicManager:tcp -h %s -p %d", a.node.IceHost, a.node.IcePort)
	cmd := exec.CommandContext(ctx, a.graph.Admin, "--IceStormAdmin.TopicManager.Default="+proxy, "-e", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// refusedByAdmin says whether icestormadmin printed that the service refused
// the change. What it calls unreachable may have been carried out. It asks the
// node's own copy for topics first, so a refusal tells nothing about now.
func refusedByAdmin(text string) bool {
	if strings.Contains(text, "couldn't reach") {
		return strings.Contains(text, "ConnectionRefused")
	}
	return strings.HasPrefix(text, "error: ") || strings.HasPrefix(text, "warning: ")
}
