package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LOGSTORE_TEST_LOCK"); dir != "" {
		os.Exit(lockInChild(dir))
	}
	// go-metrics, used by raft, starts one for its default sink.
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, dir string, cfg Config) *Store {
	t.Helper()
	s, err := Open(dir, cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// entries returns n logs from index first on, every third with extensions of its own.
func entries(first uint64, n int) []*raft.Log {
	at := time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)
	logs := make([]*raft.Log, n)
	for i := range logs {
		index := first + uint64(i)
		logs[i] = &raft.Log{Index: index, Term: 3, Type: raft.LogCommand, Data: fmt.Appendf(nil, "command %d", index), AppendedAt: at}
		if index%3 == 0 {
			logs[i].Extensions = fmt.Appendf(nil, "ext %d", index)
		}
	}
	return logs
}

func mustStore(t testing.TB, s *Store, logs []*raft.Log) {
	t.Helper()
	if err := s.StoreLogs(logs); err != nil {
		t.Fatalf("StoreLogs: %v", err)
	}
}

func diff(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s: got (-) want (+):\n%s", what, d)
	}
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// editBolt changes the raw value of an entry behind the store's back.
func editBolt(t testing.TB, dir, bucket string, key []byte, edit func([]byte) []byte) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, logFile), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		return b.Put(key, edit(append([]byte(nil), b.Get(key)...)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func indexKey(i uint64) []byte { return binary.BigEndian.AppendUint64(nil, i) }

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// decodeEntry reads an entry as raft-boltdb does.
func decodeEntry(raw []byte, l *raft.Log) error {
	return codec.NewDecoderBytes(raw, &codec.MsgpackHandle{}).Decode(l)
}
