package fsm_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/fsm"
	"floe/topics"
)

// graphNode is a node with one of everything that a graph holds.
func graphNode() *node {
	n := newNode()
	for _, op := range []fsm.Op{
		fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 1, Addresses: map[string][]string{"peer": {"127.0.0.2:7400"}}, Program: "devel", Supports: 1}},
		fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "c9", Addresses: []string{"h:1"}}},
		fsm.CreateTopic{Name: "a"},
		fsm.CreateTopic{Name: "b"},
		fsm.Link{From: "a", To: "b", Cost: -3},
		fsm.Link{From: "b", Remote: &topics.Remote{Identity: topics.Identity{Name: "topic.b", Category: "Other"}, Proxy: []byte{1, 2}}},
		fsm.Subscribe{Topic: "a", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{3}, QoS: []topics.Setting{{Key: "retryCount", Value: "2"}}}},
	} {
		n.do(fsm.Command{Request: fsm.RequestID{byte(n.index), 9}, Op: op})
	}
	return n
}

// goldenSnapshots are states whose snapshots are on people's disks: a golden
// file may be added, never changed.
func goldenSnapshots() map[string]*node {
	return map[string]*node{"graph": graphNode()}
}

func TestSnapshotsKeepTheirBytes(t *testing.T) {
	for name, n := range goldenSnapshots() {
		got := snapshotOf(t, n.State)
		file := filepath.Join("testdata", "snapshots", name+".hex")
		if *update {
			if err := os.WriteFile(file, []byte(hex.EncodeToString(got)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: written as\n%x, the golden file says\n%x", name, got, want)
		}
		back := restored(t, want)
		if again := snapshotOf(t, back.State); !bytes.Equal(again, want) || back.View().Digest() != n.View().Digest() {
			t.Errorf("%s: restored, it is another state", name)
		}
	}
}
