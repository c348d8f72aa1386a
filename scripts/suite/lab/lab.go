package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Lab is a cluster under test. Its methods may be called by one goroutine at a
// time, but for those of [Node], which look after themselves.
type Lab struct {
	Number int     `json:"number"`
	Nodes  []*Node `json:"nodes"`
	// Namespaces is false where root is missing.
	Namespaces bool `json:"namespaces"`
	// Owner is the process that the lab ends with; zero for one that stays.
	Owner process `json:"owner"`
	// Binary is the lab's copy of the floe program.
	Binary string `json:"binary"`
	// Cuts are the faults of the network, by name.
	Cuts map[string][]Cut `json:"cuts,omitempty"`
	// Lines are the bad lines, by name; Wire is the process that makes them.
	Lines map[string][]Line `json:"lines,omitempty"`
	Wire  process           `json:"wire"`
	// Disks and Clocks tell that each node has a disk and a clock of its own.
	Disks  bool `json:"disks"`
	Clocks bool `json:"clocks"`

	dir    string
	saving sync.Mutex // held while what save writes is changed or written
}

// Cut is a direction in which packets are dropped.
type Cut struct{ From, To string }

// ErrNone says that there is no lab.
var ErrNone = errors.New("no cluster is up: see scripts/cluster up")

// highest is the highest number of a lab: one byte of an address.
const highest = 250

// root is where labs keep their state. Namespaces belong to the whole machine,
// so for root it is one place whatever TMPDIR says.
func root() string {
	if os.Geteuid() == 0 {
		return "/tmp/floe-lab"
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("floe-lab-%d", os.Getuid()))
}

// Config says what a lab is to be.
type Config struct {
	Nodes int
	// Binary is the floe program, which is copied.
	Binary string
	// Stay has it outlive this process.
	Stay bool
	// Disks and Clocks ask for nodes with disks and clocks of their own, which
	// they only get as root, clocks on amd64 alone.
	Disks, Clocks bool
}

// Create sweeps, takes a free number and makes the lab's network. No node runs
// yet. On an error nothing is left behind.
func Create(c Config) (*Lab, error) {
	if err := Sweep(); err != nil {
		return nil, err
	}
	root := os.Geteuid() == 0
	l := &Lab{Namespaces: root, Disks: root && c.Disks, Clocks: c.Clocks && clocksHere(), Cuts: map[string][]Cut{}}
	if !c.Stay {
		l.Owner = self()
	}
	if err := l.takeNumber(); err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		l.Nodes = append(l.Nodes, l.newNode(i+1))
	}
	if err := errors.Join(l.takeBinary(c.Binary), l.save(), l.build(), l.makeDisks()); err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	return l, nil
}

// takeNumber makes the lab's directory, which nobody else can then make.
func (l *Lab) takeNumber() error {
	if err := os.MkdirAll(root(), 0o755); err != nil {
		return err
	}
	for n := 1; n <= highest; n++ {
		dir := filepath.Join(root(), strconv.Itoa(n))
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrNotExist) { // the last lab just went, and the root with it
			err = os.MkdirAll(dir, 0o755)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		l.Number, l.dir = n, dir
		return err
	}
	return fmt.Errorf("all %d labs under %s are in use", highest, root())
}

// takeBinary copies the program into the lab, so that a later build does not
// change a cluster that runs.
func (l *Lab) takeBinary(from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	l.Binary = filepath.Join(l.dir, "bin", "floe")
	if err := os.Mkdir(filepath.Dir(l.Binary), 0o755); err != nil {
		return err
	}
	return os.WriteFile(l.Binary, b, 0o755)
}

// Open returns the lab of that number, or with 0 the newest that stays.
func Open(number int) (*Lab, error) {
	if number != 0 {
		return load(number)
	}
	all, err := List()
	if err != nil {
		return nil, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Owner == (process{}) {
			return all[i], nil
		}
	}
	return nil, ErrNone
}

// List returns all labs, by number.
func List() ([]*Lab, error) {
	entries, err := os.ReadDir(root())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*Lab
	for n := 1; n <= highest; n++ {
		for _, e := range entries {
			if e.Name() != strconv.Itoa(n) {
				continue
			}
			if l, err := load(n); err == nil { // one being made has no state yet
				all = append(all, l)
			}
		}
	}
	return all, nil
}

func load(number int) (*Lab, error) {
	l := &Lab{dir: filepath.Join(root(), strconv.Itoa(number))}
	b, err := os.ReadFile(l.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no cluster %d: see scripts/cluster list", number)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("%s: %w", l.statePath(), err)
	}
	for _, n := range l.Nodes {
		n.lab = l
	}
	return l, nil
}

// save writes the state as one step.
func (l *Lab) save() error {
	l.saving.Lock()
	defer l.saving.Unlock()
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	next := l.statePath() + ".next"
	if err := os.WriteFile(next, b, 0o644); err != nil {
		return err
	}
	return os.Rename(next, l.statePath())
}

const stateFile = "lab.json"

func (l *Lab) statePath() string { return filepath.Join(l.dir, stateFile) }

// Dir is where data and logs of the nodes are.
func (l *Lab) Dir() string { return l.dir }

// Node returns a node by its name, n1 for one.
func (l *Lab) Node(name string) (*Node, error) {
	for _, n := range l.Nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q: there are n1 to n%d", name, len(l.Nodes))
}

// Names returns the nodes' names.
func (l *Lab) Names() []string {
	var out []string
	for _, n := range l.Nodes {
		out = append(out, n.Name)
	}
	return out
}

// Network is the addresses of nodes and clients.
func (l *Lab) Network() string { return fmt.Sprintf("%s.%d.0/24", l.prefix(), l.Number) }

func (l *Lab) prefix() string {
	if l.Namespaces {
		return "10.77"
	}
	return "127.77"
}

// Remove ends all processes of the lab and removes namespaces, data and logs.
// It goes on after errors and may be called again.
func (l *Lab) Remove() error {
	var errs []error
	for _, n := range l.Nodes {
		errs = append(errs, n.Kill())
	}
	errs = append(errs, l.tearDown(), removeAll(l.dir))
	_ = os.Remove(root()) // where this was the last lab
	return errors.Join(errs...)
}

// removeAll removes a lab's directory with the disks mounted in it.
func removeAll(dir string) error {
	if err := unmountAll(dir); err != nil {
		return err // else the data would go and the mount stay
	}
	return os.RemoveAll(dir)
}

// Sweep removes labs whose owner is gone, directories of labs that never came
// to be, and namespaces of no lab.
func Sweep() error {
	all, err := List()
	if err != nil {
		return err
	}
	errs := []error{sweepStateless()}
	for _, l := range all {
		if l.Owner != (process{}) && !l.Owner.alive() {
			errs = append(errs, l.Remove())
		}
	}
	return errors.Join(append(errs, sweepNamespaces())...)
}

// unborn is how long a lab may be without state while it is made.
const unborn = time.Minute

// sweepStateless removes directories whose maker ended before there was a
// state.
func sweepStateless() error {
	entries, err := os.ReadDir(root())
	if err != nil {
		return ignoreMissing(err)
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(root(), e.Name())
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < unborn {
			errs = append(errs, ignoreMissing(err))
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, stateFile)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, removeAll(dir))
		}
	}
	return errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Enter continues this process inside the lab's hub, as the program and
// arguments given; it returns only where that fails. Without namespaces it
// continues where it is.
func (l *Lab) Enter(argv []string) error {
	return l.within(hub, func() error { return syscall.Exec(argv[0], argv, os.Environ()) })
}
