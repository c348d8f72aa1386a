package lab_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"floe/scripts/suite/lab"
)

// rooted says whether this process is root; where it is not, the error is checked
// to be that of a fault that needs it.
func rooted(t *testing.T, l *lab.Lab, err, want error) bool {
	t.Helper()
	if l.Namespaces {
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	if !errors.Is(err, want) {
		t.Errorf("without root: %v, want %v", err, want)
	}
	return false
}

const (
	// patience is how long packets that should arrive are waited for.
	patience = 5 * time.Second
	// silence is how long those are that should not.
	silence = 300 * time.Millisecond
	// soon is what a packet takes less than where nothing delays it.
	soon = time.Second
)

// send sends packets between nodes and returns what arrives.
func send(t *testing.T, l *lab.Lab, from, to, count int, limit time.Duration) []lab.Packet {
	t.Helper()
	packets, err := l.Nodes[from-1].Send(l.Nodes[to-1], count, limit)
	if err != nil {
		t.Fatal(err)
	}
	return packets
}

// heal takes everything back and checks that all nodes hear each other well.
func heal(t *testing.T, l *lab.Lab) {
	t.Helper()
	if err := l.Heal(""); err != nil {
		t.Fatal(err)
	}
	for from := range l.Nodes {
		for to := range l.Nodes {
			if from == to {
				continue
			}
			got := send(t, l, from+1, to+1, 5, patience)
			if len(got) != 5 || slices.ContainsFunc(got, func(p lab.Packet) bool { return p.Damaged || p.Took > soon }) {
				t.Errorf("healed: %d of 5 packets from n%d to n%d: %v", len(got), from+1, to+1, got)
			}
		}
	}
}

// Packets that may not go one way still go the other.
func TestOnewayCutsOneWay(t *testing.T) {
	l := newLab(t, 2)
	if !rooted(t, l, l.Oneway("o", []string{"n2"}, []string{"n1"}), lab.ErrNoNetwork) {
		return
	}
	if there, back := len(send(t, l, 1, 2, 10, patience)), len(send(t, l, 2, 1, 10, silence)); there != 10 || back != 0 {
		t.Errorf("%d of 10 packets from n1 to n2 and %d back, want all and none", there, back)
	}
	heal(t, l)
}

// Two halves reach the node between them and not each other.
func TestBridge(t *testing.T) {
	l := newLab(t, 5)
	if !rooted(t, l, l.Bridge("b", "n3"), lab.ErrNoNetwork) {
		return
	}
	for pair, want := range map[[2]int]int{{1, 2}: 5, {4, 5}: 5, {1, 3}: 5, {3, 5}: 5, {1, 4}: 0, {5, 2}: 0} {
		limit := patience
		if want == 0 {
			limit = silence
		}
		if got := len(send(t, l, pair[0], pair[1], 5, limit)); got != want {
			t.Errorf("%d packets from n%d to n%d, want %d", got, pair[0], pair[1], want)
		}
	}
	heal(t, l)
}

// Packets are late on the line that was named, in order, and only there; a
// second fault on another line changes nothing about it.
func TestDelay(t *testing.T) {
	l := newLab(t, 3)
	late := lab.Quality{Delay: soon + 300*time.Millisecond, Jitter: 300 * time.Millisecond}
	if !rooted(t, l, l.Spoil("d", []string{"n1"}, []string{"n2"}, late), lab.ErrNoNetwork) {
		return
	}
	check := func() {
		t.Helper()
		got := send(t, l, 1, 2, 30, patience)
		if len(got) != 30 {
			t.Errorf("%d of 30 packets arrived", len(got))
		}
		for i, p := range got {
			if p.Number != i || p.Took < soon {
				t.Errorf("packet %d came as number %d after %s", p.Number, i, p.Took)
			}
		}
		for _, p := range append(send(t, l, 2, 1, 10, patience), send(t, l, 3, 2, 10, patience)...) {
			if p.Took > soon {
				t.Errorf("a packet on another line took %s", p.Took)
			}
		}
	}
	check()
	if err := l.Spoil("l", []string{"n2"}, []string{"n3"}, lab.Quality{Loss: 100}); err != nil {
		t.Fatal(err)
	}
	check()
	if got := send(t, l, 2, 3, 10, silence); len(got) > 0 {
		t.Errorf("%d of 10 packets on a line that loses all", len(got))
	}
	if err := l.Heal("d"); err != nil {
		t.Fatal(err)
	}
	if got := send(t, l, 2, 3, 10, silence); len(got) > 0 {
		t.Errorf("%d of 10 packets on a line that loses all, when another was healed", len(got))
	}
	heal(t, l)
}

// Packets are lost, doubled and overtaken about as often as was asked for.
func TestLoss(t *testing.T) {
	l := newLab(t, 2)
	if !rooted(t, l, l.Spoil("l", []string{"n1"}, []string{"n2"}, lab.Quality{Loss: 50}), lab.ErrNoNetwork) {
		return
	}
	if got := len(send(t, l, 1, 2, 200, soon)); got < 60 || got > 140 {
		t.Errorf("%d of 200 packets arrived, about 100 should", got)
	}
	if err := l.Spoil("l", []string{"n1"}, []string{"n2"}, lab.Quality{Reorder: 20}); err != nil {
		t.Fatal(err)
	}
	inOrder := func(a, b lab.Packet) int { return a.Number - b.Number }
	if got := send(t, l, 1, 2, 200, patience); len(got) != 200 || slices.IsSortedFunc(got, inOrder) {
		t.Errorf("%d of 200 packets, in order: %v; all should come and some be overtaken", len(got), slices.IsSortedFunc(got, inOrder))
	}
	if err := l.Spoil("l", []string{"n1"}, []string{"n2"}, lab.Quality{Duplicate: 100}); err != nil {
		t.Fatal(err)
	}
	if got := send(t, l, 1, 2, 10, patience); len(got) != 10 || got[9].Number != 4 {
		t.Errorf("the first ten packets are %v, want each of the first five twice", got)
	}
	heal(t, l)
}

// Damaged packets pass the checksums of UDP and of TCP: what was sent is not
// what is read.
func TestCorrupt(t *testing.T) {
	l := newLab(t, 2)
	if !rooted(t, l, l.Spoil("c", []string{"n1"}, []string{"n2"}, lab.Quality{Corrupt: 50}), lab.ErrNoNetwork) {
		return
	}
	damaged := 0
	got := send(t, l, 1, 2, 100, patience)
	for _, p := range got {
		if p.Damaged {
			damaged++
		}
	}
	if len(got) != 100 || damaged < 25 || damaged > 75 {
		t.Errorf("%d of 100 packets came, %d of them damaged; want all and about half", len(got), damaged)
	}
	if wrong := stream(t, l, lab.PeerPort); wrong == 0 || wrong > 200 {
		t.Errorf("%d bytes of a stream arrived wrong, want a few", wrong)
	}
	if wrong := stream(t, l, lab.IcePort); wrong != 0 {
		t.Errorf("%d bytes of a stream between other ports arrived wrong", wrong)
	}
	heal(t, l)
	if wrong := stream(t, l, lab.PeerPort); wrong != 0 {
		t.Errorf("%d bytes of a stream arrived wrong after healing", wrong)
	}
}

// stream sends 100000 bytes over TCP from n1 to that port of n2 and counts the wrong ones.
func stream(t *testing.T, l *lab.Lab, port int) (wrong int) {
	t.Helper()
	const size = 100_000
	in, err := l.Nodes[1].ListenOn(port)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := l.Nodes[0].Dial(t.Context(), "tcp", in.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer out.Close()
		_, _ = out.Write(make([]byte, size)) // the reader counts
	}()
	conn, err := in.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	total := 0
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		for _, b := range buffer[:n] {
			if b != 0 {
				wrong++
			}
		}
		if total += n; err != nil {
			break
		}
	}
	if total != size {
		t.Errorf("%d of %d bytes of a stream arrived", total, size)
	}
	return wrong
}
