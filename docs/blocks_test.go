package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/scripts/floetest"
)

// mostMarked bounds how many blocks may be left to others: a page is there to be run.
const mostMarked = 27

// TestBlocksRun types the command blocks of README.md and of each page of docs, in order, as its reader does: in one
// shell for a page, with floe on the PATH. A block that is not typed here says so in the text before it:
//
//	<!-- not run: REASON -->
//	<!-- run by TestNAME -->
//
// and with "all: " before the reason, or "all" behind the name, for all blocks of a page that follow.
func TestBlocksRun(t *testing.T) {
	files := []string{"README.md"}
	for name := range pages(t) {
		if filepath.Dir(name) == filepath.Join(root, "docs") {
			files = append(files, filepath.Join("docs", filepath.Base(name)))
		}
	}
	typed, left := 0, 0
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			r := newReader(t, name)
			stage := stages[name]
			if stage.serve != nil {
				stage.serve(t, r)
			}
			r.typeAll(stage.first)
			for _, b := range shellBlocks(t, read(t, filepath.Join(root, name))) {
				switch {
				case b.file != "":
					r.write(b.file, strings.Join(b.lines, "\n")+"\n")
				case b.left:
					left++
				default:
					typed++
					r.typeAll(stage.beforeBlock(b.lines[0]))
					r.refused = b.fails
					r.typeAll(strings.Join(b.lines, "\n"))
				}
			}
			r.endlessAreWell()
		})
	}
	t.Logf("%d blocks ran, %d are marked", typed, left)
	if left > mostMarked {
		t.Errorf("%d blocks are marked, more than %d", left, mostMarked)
	}
}

// shellBlock is one block of commands, or of a file whose name stands in its first line.
type shellBlock struct {
	lines []string
	file  string
	left  bool   // not to be typed
	fails string // what the last command says when it is refused
}

var (
	fence    = regexp.MustCompile("^ *```(\\w*)$")
	marker   = regexp.MustCompile(`^ *<!-- (not run|run by) *(Test\w+)?(?:: )?(all)?(?:: )?(.*?) *-->$`)
	named    = regexp.MustCompile(`^# ([a-z]+\.(?:toml|conf|txt))$`)
	isScript = regexp.MustCompile(`(?m)^ *\./scripts/|^scripts/`)
)

// shellBlocks are a page's, in order: those fenced as sh, those that are indented, and files.
func shellBlocks(t *testing.T, page string) (all []shellBlock) {
	t.Helper()
	lines, marked, whole, after := strings.Split(page, "\n"), false, false, false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := marker.FindStringSubmatch(line); m != nil {
			checkMarker(t, m)
			marked, whole = true, whole || m[3] != ""
			continue
		}
		m := fence.FindStringSubmatch(line)
		var code []string
		switch {
		case m != nil:
			for i++; i < len(lines) && !fence.MatchString(lines[i]); i++ {
				code = append(code, strings.TrimSpace(lines[i]))
			}
		case strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != "":
			for ; i < len(lines) && strings.HasPrefix(lines[i], "    "); i++ {
				code = append(code, strings.TrimSpace(lines[i]))
			}
		default:
			marked, after = marked && strings.TrimSpace(line) == "", after && strings.TrimSpace(line) == ""
			continue
		}
		if m != nil && m[1] == "" {
			t.Errorf("line %d: the block does not say what it is: sh for commands, text for others", i+1)
		}
		if f := named.FindStringSubmatch(code[0]); f != nil {
			all = append(all, shellBlock{lines: code, file: f[1]})
		} else if m == nil || m[1] == "sh" {
			all = append(all, shellBlock{lines: code, left: marked || whole})
		} else if i := slices.IndexFunc(code, func(l string) bool { return strings.HasPrefix(l, "error: ") }); i >= 0 && after {
			all[len(all)-1].fails = code[i]
		}
		after = m != nil && m[1] == "sh"
		marked = false
	}
	return all
}

// checkMarker: a reason is given, or a test that exists.
func checkMarker(t *testing.T, m []string) {
	t.Helper()
	if m[1] == "not run" && m[4] == "" {
		t.Errorf("%s gives no reason", m[0])
	}
	if m[1] == "run by" && !tests(t)[m[2]] {
		t.Errorf("%s: there is no such test", m[0])
	}
}

// reader is somebody who types a page's commands into a shell.
type reader struct {
	t       *testing.T
	dir     string
	shell   []string          // its environment at the beginning
	places  map[string]string // addresses on the page to those used here
	instead []string          // other words of the page, each followed by what is typed
	served  []string          // what the page calls what others run, each followed by where it is
	endless []*typed
	refused string // what the next command says, where the page shows that it is refused
}

// typed is a command that goes on while others are typed.
type typed struct {
	line, data, bind string
	cmd              *exec.Cmd
	said             string // file of what it prints
	done             chan struct{}
	stopped          bool
}

func newReader(t *testing.T, page string) *reader {
	t.Helper()
	r := &reader{t: t, dir: t.TempDir(), places: map[string]string{}, instead: stages[page].instead}
	bin := filepath.Join(r.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{filepath.Join(bin, "floe"), filepath.Join(r.dir, "floe")} {
		if err := os.Symlink(floetest.Binary(), at); err != nil {
			t.Fatal(err)
		}
	}
	home := r.here("127.0.0.1")
	r.shell = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FLOE_BIND="+home, "FLOE_ADDR="+home+":7480")
	t.Cleanup(r.end)
	return r
}

var (
	network  = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+/\d+`)
	address  = regexp.MustCompile(`\b(?:127|10)\.\d+\.\d+\.\d+\b`)
	absolute = regexp.MustCompile(`(^|[ =])/(etc|var)/`)
)

// here is a text of the page with the addresses and places of this run. This is the one thing in which a command differs
// from what stands there.
func (r *reader) here(text string) string {
	text = strings.NewReplacer(r.instead...).Replace(text)
	text = r.addresses(text)
	for i := 0; i < len(r.served); i += 2 {
		text = strings.ReplaceAll(text, r.addresses(r.served[i]), r.served[i+1])
	}
	text = absolute.ReplaceAllString(text, "${1}"+r.dir+"/$2/")
	if isScript.MatchString(text) { // it works in the module's directory, and keeps its data there
		top, err := filepath.Abs(root)
		if err != nil {
			r.t.Fatal(err)
		}
		text = "FLOE_DATA=" + r.dir + "/floe-data " + top + "/" + text
	}
	return text
}

// addresses puts those of this run in the place of those of the page.
func (r *reader) addresses(text string) string {
	text = network.ReplaceAllString(text, "127.0.0.0/8")
	return address.ReplaceAllStringFunc(text, func(at string) string {
		if at == "127.0.0.0" {
			return at
		}
		if r.places[at] == "" {
			r.places[at] = floetest.NewIP(r.t)
		}
		return r.places[at]
	})
}

// write makes a file that the page shows.
func (r *reader) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(r.here(text)), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

var (
	starts  = regexp.MustCompile(`^(?:\w+=\S+ )*(?:\./)?floe start\b|^scripts/run\b`)
	tells   = regexp.MustCompile(`^(?:\./)?floe (?:sub|recv)\b`) // it says once it is ready
	goesOn  = regexp.MustCompile(`^(?:\./)?floe (?:watch|sub|recv)\b|^curl -N`)
	flagsOf = regexp.MustCompile(`--(data|bind)[ =](\S+)`)
	stops   = regexp.MustCompile(`^stop (\S+)$`) // of stages alone: the node with that --data
)

// typeAll types lines. Nodes that stand together are started together, for they may wait for each other.
func (r *reader) typeAll(lines string) {
	r.t.Helper()
	var nodes []*typed
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if starts.MatchString(line) {
			nodes = append(nodes, r.node(line))
			continue
		}
		r.startAll(nodes)
		nodes = nil
		switch {
		case stops.MatchString(line):
			r.stop(func(n *typed) bool { return n.data == stops.FindStringSubmatch(line)[1] })
		case goesOn.MatchString(line):
			r.start(&typed{line: line})
		case line != "":
			r.run(line)
		}
	}
	r.startAll(nodes)
}

// node is what a line starts.
func (r *reader) node(line string) *typed {
	n := &typed{line: line, data: "floe-data", bind: "127.0.0.1"}
	for _, m := range flagsOf.FindAllStringSubmatch(line, -1) {
		if m[1] == "data" {
			n.data = m[2]
		} else {
			n.bind = m[2]
		}
	}
	return n
}

// startAll starts nodes, after those that have their data or addresses were stopped, and waits until they are what they
// will be.
func (r *reader) startAll(nodes []*typed) {
	r.t.Helper()
	for i, n := range nodes {
		r.stop(func(other *typed) bool { return n.data == other.data || n.bind == other.bind })
		if i+1 < len(nodes) && (n.data == nodes[i+1].data || n.bind == nodes[i+1].bind) { // one way, and another
			r.startAll(nodes[:i+1])
			r.startAll(nodes[i+1:])
			return
		}
	}
	for _, n := range nodes {
		r.start(n)
	}
	for _, n := range nodes {
		floetest.Eventually(r.t, floetest.Patience, func() error { return r.settled(n) })
	}
}

var (
	listensAt  = regexp.MustCompile(`listening for http +(\S+)`)
	tlsFlags   = regexp.MustCompile(`--tls-\w+[ =]\S+`)
	isIdle     = regexp.MustCompile(`(?m)^node .*\((?:left|removed)\)$`)
	isMember   = regexp.MustCompile(`(?m)^leader +\S+ in term \d+$`)
	isOnTheWay = regexp.MustCompile(`(?m)^node .*\((?:joining|non-voter)\)$`)
	patienceOf = 30 * time.Second
)

// settled tells why a node is neither part of a cluster with a leader, with its vote, nor idle.
func (r *reader) settled(n *typed) error {
	select {
	case <-n.done:
		r.t.Fatalf("%s: ended with %v\n%s", n.line, n.cmd.ProcessState, read(r.t, n.said))
	default:
	}
	m := listensAt.FindStringSubmatch(read(r.t, n.said))
	if m == nil {
		return fmt.Errorf("%s: does not listen:\n%s", n.line, read(r.t, n.said))
	}
	ask := "floe status --addr " + m[1] + " " + strings.Join(tlsFlags.FindAllString(n.line, -1), " ")
	out, err := r.bash(ask).Output()
	votes := isMember.Match(out) && (!isOnTheWay.Match(out) || strings.Contains(n.line, "--non-voter"))
	if err != nil || !votes && !isIdle.Match(out) {
		return fmt.Errorf("%s: %v\n%s\n%s", ask, err, out, read(r.t, n.said))
	}
	return nil
}

// bash is a line for the page's shell, with the variables that were set before.
func (r *reader) bash(line string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), "bash", "-c", "set -a; ! test -e .set || . ./.set\n"+line+"\nended=$?; export -p >.set; exit $ended")
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.shell, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run types a command that ends, and well.
func (r *reader) run(line string) {
	r.t.Helper()
	cmd := r.bash("set -o pipefail\n" + r.here(line))
	late := time.AfterFunc(patienceOf, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	said := filepath.Join(r.dir, ".said") // a file, for what is left in the background keeps it open
	out, err := os.Create(said)
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	if refused := r.refused; refused != "" {
		r.refused = ""
		if text := read(r.t, said); err == nil || !strings.Contains(text, refused) {
			r.t.Errorf("%s\nis not refused with %s but says\n%s", line, refused, text)
		}
		return
	}
	if err != nil {
		r.t.Fatalf("%s\ntyped as %s\n%v\n%s\n%s", line, r.here(line), err, read(r.t, said), r.logs())
	}
}

// start types a command that goes on, in a terminal of its own.
func (r *reader) start(n *typed) {
	r.t.Helper()
	n.said, n.done = filepath.Join(r.dir, fmt.Sprintf(".said%d", len(r.endless))), make(chan struct{})
	out, err := os.Create(n.said)
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close()
	line := regexp.MustCompile(`^((?:\w+=\S+ )*)`).ReplaceAllString(r.here(n.line), "${1}exec ") // so that it gets the signals
	n.cmd = exec.Command("bash", "-c", "set -a; ! test -e .set || . ./.set\n"+line)
	n.cmd.Dir, n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr = r.dir, r.shell, out, out
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(n.done)
		_ = n.cmd.Wait() // how is asked of cmd
	}()
	r.endless = append(r.endless, n)
	if tells.MatchString(n.line) {
		floetest.Eventually(r.t, floetest.Patience, func() error {
			if read(r.t, n.said) == "" {
				return fmt.Errorf("%s says nothing", n.line)
			}
			return nil
		})
	}
}

// stop stops nodes as Ctrl-C does.
func (r *reader) stop(which func(*typed) bool) {
	r.t.Helper()
	for _, n := range r.endless {
		if n.data == "" || n.stopped || !which(n) {
			continue
		}
		n.stopped = true
		_ = n.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-n.done:
		case <-time.After(patienceOf):
			r.t.Fatalf("%s: does not stop\n%s", n.line, read(r.t, n.said))
		}
		if !n.cmd.ProcessState.Success() {
			r.t.Errorf("%s: ended with %v\n%s", n.line, n.cmd.ProcessState, read(r.t, n.said))
		}
	}
}

// endlessAreWell: what goes on went on, or came to a good end.
func (r *reader) endlessAreWell() {
	r.t.Helper()
	for _, n := range r.endless {
		select {
		case <-n.done:
			if !n.cmd.ProcessState.Success() {
				r.t.Errorf("%s: ended with %v\n%s", n.line, n.cmd.ProcessState, read(r.t, n.said))
			}
		default:
		}
	}
}

// end leaves nothing behind.
func (r *reader) end() {
	for _, n := range r.endless {
		_ = n.cmd.Process.Kill()
		<-n.done
	}
}

// logs is what those that go on said.
func (r *reader) logs() string {
	var all strings.Builder
	for _, n := range r.endless {
		text := read(r.t, n.said)
		fmt.Fprintf(&all, "--- %s\n%s\n", n.line, text[max(0, len(text)-1500):])
	}
	return all.String()
}
