package logstore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	logs := entries(1, 30)
	logs[4].AppendedAt = logs[4].AppendedAt.AddDate(-2024, 0, 0)
	logs[5] = &raft.Log{Index: 6, Term: 4, Type: raft.LogBarrier}
	want := make([]raft.Log, len(logs))
	for i, l := range logs {
		want[i] = *l
		want[i].Extensions = append([]byte(nil), l.Extensions...)
	}
	mustStore(t, s, logs)
	for i, l := range logs {
		diff(t, "caller's log", *l, want[i])
	}
	s.Close()
	s = open(t, dir, Config{})
	for i := range want {
		var got raft.Log
		if err := s.GetLog(uint64(i)+1, &got); err != nil {
			t.Fatal(err)
		}
		diff(t, "read", got, want[i])
	}
	if err := s.GetLog(31, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("beyond the end: got %v, want ErrLogNotFound", err)
	}
	if err := s.Health().Err(); err != nil {
		t.Errorf("after ErrLogNotFound: got %v, want in service", err)
	}
}

func TestStableValues(t *testing.T) {
	s := open(t, t.TempDir(), Config{})
	if _, err := s.GetUint64([]byte("none")); err != raftboltdb.ErrKeyNotFound || err.Error() != "not found" {
		t.Errorf("missing key: got %v, want ErrKeyNotFound itself, raft compares its text", err)
	}
	if err := s.SetUint64(keyCurrentTerm, 7); err != nil {
		t.Fatal(err)
	}
	if got, err := s.GetUint64(keyCurrentTerm); got != 7 || err != nil {
		t.Errorf("got %d, %v, want 7", got, err)
	}
	if err := s.Set(keyVoteCand, []byte("n1")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(keyVoteCand); string(got) != "n1" || err != nil {
		t.Errorf("got %q, %v, want n1", got, err)
	}
}

func TestCommitIndexRidesWithAppends(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	check := func(s *Store, what string, want uint64) {
		t.Helper()
		if got, err := s.GetCommitIndex(); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", what, got, err, want)
		}
	}
	check(s, "empty", 0)
	mustStore(t, s, entries(1, 5))
	s.StageCommitIndex(4)
	check(s, "staged only", 0)
	mustStore(t, s, entries(6, 2))
	check(s, "appended", 4)
	s.StageCommitIndex(3)
	mustStore(t, s, entries(8, 1))
	check(s, "staged a lower one", 4)
	s.StageCommitIndex(1000)
	check(s, "staged, not appended", 4)
	mustStore(t, s, entries(9, 1))
	check(s, "above the last index", 9)
	s.Close()
	check(open(t, dir, Config{}), "after restart", 9)
}

func TestOneTransactionPerBatch(t *testing.T) {
	s := open(t, t.TempDir(), Config{})
	before := s.db.(*boltBackend).db.Stats()
	mustStore(t, s, entries(1, 64))
	st := s.db.(*boltBackend).db.Stats()
	if got := st.TxStats.GetWrite() - before.TxStats.GetWrite(); got > 10 {
		t.Errorf("got %d page writes for a batch of 64, want one transaction's", got)
	}
}

func TestDeleteRangeAndSizes(t *testing.T) {
	s := open(t, t.TempDir(), Config{})
	mustStore(t, s, entries(1, 2000))
	if err := s.DeleteRange(1, 1990); err != nil {
		t.Fatal(err)
	}
	first, last, err := s.bounds()
	diff(t, "bounds", []uint64{first, last}, []uint64{1991, 2000})
	if err != nil {
		t.Fatal(err)
	}
	mustStore(t, s, entries(2001, 1))
	z, err := s.Sizes()
	if err != nil || z.FileBytes == 0 || z.FreePages+z.PendingPages == 0 {
		t.Errorf("got %+v, %v, want free pages", z, err)
	}
}

func TestReplayStopsAtCommitIndex(t *testing.T) {
	s := open(t, t.TempDir(), Config{})
	logs := entries(1, 10)
	logs[3].Type = raft.LogNoop
	s.StageCommitIndex(8)
	mustStore(t, s, logs)
	var got []uint64
	reached, err := s.Replay(2, func(l *raft.Log) error { got = append(got, l.Index); return nil })
	if err != nil || reached != 8 {
		t.Errorf("got %d, %v, want 8", reached, err)
	}
	diff(t, "replayed", got, []uint64{3, 5, 6, 7, 8})
}

func TestContinuity(t *testing.T) {
	s := open(t, t.TempDir(), Config{})
	mustStore(t, s, entries(1, 5))
	mustStore(t, s, entries(20, 5))
	for snapshot, missing := range map[uint64]uint64{0: 6, 10: 11, 19: 0, 22: 0, 100: 0} {
		err := s.CheckContinuity(snapshot)
		gap := (*GapError)(nil)
		switch {
		case missing == 0 && err != nil:
			t.Errorf("snapshot %d: got %v, want none", snapshot, err)
		case missing > 0 && (!errors.As(err, &gap) || gap.Missing != missing):
			t.Errorf("snapshot %d: got %v, want gap at %d", snapshot, err, missing)
		}
	}
}

func TestVoteIsReported(t *testing.T) {
	var terms []uint64
	s := open(t, t.TempDir(), Config{OnVote: func(term uint64) error {
		if terms = append(terms, term); term == 9 {
			return errors.New("disk full")
		}
		return nil
	}})
	s.SetUint64(keyCurrentTerm, 4)
	s.SetUint64(keyVoteTerm, 5)
	if err := s.SetUint64(keyVoteTerm, 9); !is[*FailedError](err) {
		t.Errorf("got %v, want *FailedError", err)
	}
	if d := cmp.Diff(terms, []uint64{5, 9}); d != "" {
		t.Error(d)
	}
}

func BenchmarkStoreLogs1(b *testing.B)  { benchStore(b, 1) }
func BenchmarkStoreLogs64(b *testing.B) { benchStore(b, 64) }

func benchStore(b *testing.B, n int) {
	s := open(b, b.TempDir(), Config{})
	next := uint64(1)
	b.ReportAllocs()
	for b.Loop() {
		logs := entries(next, n)
		next += uint64(n)
		if err := s.StoreLogs(logs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/entry")
}

func BenchmarkOpen100k(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, Config{})
	for i := uint64(1); i < 100_000; i += 1000 {
		mustStore(b, s, entries(i, 1000))
	}
	s.Close()
	for b.Loop() {
		s, err := Open(dir, Config{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
