package cluster_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
)

// damage changes bytes in one of the ways disks do.
func damage(r *rand.Rand, kind int, b []byte) []byte {
	used := len(b)
	for used > 1 && b[used-1] == 0 { // most of a database file is unused
		used--
	}
	if used == 0 {
		return b
	}
	b = append([]byte(nil), b...)
	at := r.IntN(used)
	switch kind % 4 {
	case 0:
		b[at] ^= 1 << r.IntN(8)
	case 1:
		clear(b[at:min(at+1+r.IntN(4096), len(b))])
	case 2:
		b = b[:at]
	case 3:
		page := at / 4096 * 4096
		for i := page; i < min(page+4096, len(b)); i++ {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

// refusedForDamage tells whether a start was refused by a named error that
// says where.
func refusedForDamage(err error, dir string) bool {
	var damaged *cluster.DamagedData
	var snapshot *logstore.SnapshotError
	var foreign *logstore.ForeignDataError
	var older *cluster.OlderData
	named := errors.As(err, &damaged) || errors.As(err, &snapshot) || errors.As(err, &foreign) || errors.As(err, &older)
	return named && strings.Contains(err.Error(), dir)
}

// TestDamagedFiles changes each kind of file of a node at random places, starts
// it, and has it lead: it refuses by name, or has all that was acknowledged,
// and never anything else. See C12.
func TestDamagedFiles(t *testing.T) {
	const rounds = 8
	files := map[string]string{
		"log": "raft.db", "identity": "identity.json", "witness": "witness.json",
		"snapshot": "snapshots/*/state.bin", "snapshot meta": "snapshots/*/meta.json",
	}
	for _, class := range []string{"log", "identity", "witness", "snapshot", "snapshot meta"} {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(4, uint64(len(class))))
				c := clustertest.New(t, 3, func(cfg *cluster.Config) {
					cfg.SnapshotThreshold, cfg.SnapshotInterval = 16, 500*time.Millisecond
				})
				n := c.Nodes[2]
				outcome, made := map[string]int{}, 0
				for round := range rounds {
					made += 20
					for i := range 20 {
						mustPropose(t, c.Nodes[0], create(fmt.Sprintf("%d-%d", round, i)))
					}
					waitTopics(c, made)
					time.Sleep(15 * time.Second) // of virtual time: snapshots, and the witness is written
					n.Stop()
					path := newestMatch(t, filepath.Join(n.Config.DataDir, files[class]))
					whole, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					write := func(b []byte) {
						if err := os.WriteFile(path, b, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					write(damage(r, round, whole))
					if err := startDamaged(n); err != nil {
						outcome["refused"]++
						if !refusedForDamage(err, n.Config.DataDir) {
							t.Fatalf("round %d: got %v, want a named refusal", round, err)
						}
						write(whole)
						// Elsewhere: a database that stopped by a panic stays locked until its process ends.
						elsewhere := t.TempDir()
						copyDir(t, elsewhere, n.Config.DataDir)
						n.Config.DataDir = elsewhere
						n.Start()
					} else {
						outcome["started"]++
					}
					c.WaitReady()
					lead(t, c, n)
					view, err := n.Read(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if got := view.Graph.Len(); got != made {
						t.Fatalf("round %d: %d topics, %d were acknowledged", round, got, made)
					}
				}
				t.Logf("%s: %v", class, outcome)
			})
		})
	}
}

// startDamaged starts a node and gives it time to end by itself.
func startDamaged(n *clustertest.Node) error {
	if err := n.TryStart(); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // of virtual time
	if !n.Running() {
		return n.Err()
	}
	return nil
}

// lead has a node lead.
func lead(t *testing.T, c *clustertest.Cluster, n *clustertest.Node) {
	t.Helper()
	c.Wait(n.Name+" leading", func() error {
		if n.IsLeader() {
			return nil
		}
		return c.Leader().Transfer(t.Context(), n.Name)
	})
}

// newestMatch returns the last file of a pattern by name.
func newestMatch(t *testing.T, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	newest, at := "", time.Time{}
	for _, path := range all {
		if info, err := os.Stat(path); err == nil && (newest == "" || info.ModTime().After(at)) {
			newest, at = path, info.ModTime()
		}
	}
	return newest
}
