package replay_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/replay"
)

// write makes a data directory with topics in its log.
func write(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	store, err := logstore.Open(dir, logstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	configuration := raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "x:1"}, {ID: "n2", Address: "y:1", Suffrage: raft.Nonvoter}}}
	logs := []*raft.Log{{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(configuration)}}
	for i, name := range names {
		data, err := fsm.Command{Op: fsm.CreateTopic{Name: name}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, &raft.Log{Index: uint64(i + 2), Term: 1, Data: data})
	}
	if err := store.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRead(t *testing.T) {
	log, err := replay.Read([]replay.Place{{"n1", write(t, "a"), 2}, {"n2", write(t, "a", "b"), 3}})
	if err != nil {
		t.Fatal(err)
	}
	if log.Node != "n2" || len(log.Entries) != 3 || log.Compared != 2 || len(log.Differ) != 0 || log.Base != nil {
		t.Errorf("%v: %+v", log, log)
	}
	if v := log.Entries[0].Voters; len(v) != 1 || v[0] != "n1" {
		t.Errorf("voters %v", v)
	}
}

func TestEntriesThatDiffer(t *testing.T) {
	for applied, want := range map[uint64]int{3: 1, 2: 0} { // what was not applied may differ
		log, err := replay.Read([]replay.Place{{"n1", write(t, "a", "b"), 3}, {"n2", write(t, "a", "c"), applied}})
		if err != nil {
			t.Fatal(err)
		}
		if len(log.Differ) != want {
			t.Errorf("%d applied: differ %v", applied, log.Differ)
		}
	}
}

func TestNoLog(t *testing.T) {
	if _, err := replay.Read([]replay.Place{{"n1", t.TempDir(), 3}}); err == nil {
		t.Error("an empty directory has a log")
	}
}

// A log that was cut goes on from a snapshot: what came before is taken from that.
func TestCutLogGoesOnFromASnapshot(t *testing.T) {
	dir := write(t, "a", "b", "c")
	state := fsm.New(fsm.Config{})
	for i, op := range []fsm.Op{fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: fsm.ProgramVersion}, fsm.CreateTopic{Name: "a"}, fsm.CreateTopic{Name: "b"}} {
		data, err := fsm.Command{Op: op}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(&raft.Log{Index: uint64(i + 1), Data: data})
	}
	snaps, err := logstore.OpenSnapshots(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	sink, err := snaps.Create(raft.SnapshotVersionMax, 3, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := state.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Persist(sink); err != nil {
		t.Fatal(err)
	}
	store, err := logstore.Open(dir, logstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.DeleteRange(1, 2), store.Close()); err != nil {
		t.Fatal(err)
	}

	log, err := replay.Read([]replay.Place{{"n1", dir, 4}})
	if err != nil {
		t.Fatal(err)
	}
	if log.Base == nil || log.Base.Index != 3 || len(log.Base.Topics) != 2 || len(log.Entries) != 2 {
		t.Fatalf("base %+v, %d entries", log.Base, len(log.Entries))
	}
	file, err := json.Marshal(log) // as a report keeps it
	if err != nil {
		t.Fatal(err)
	}
	log = new(replay.Log)
	if err := json.Unmarshal(file, log); err != nil {
		t.Fatal(err)
	}
	r := check.Replay([]history.Op{{Func: "final", Outcome: history.OK, In: &history.Value{},
		Out: &history.Value{Topics: map[string]uint64{"a": 1, "b": 2, "c": 3}, Text: check.Sum(nil, nil)}}}, nil, log)
	if !r.Log.Kept || !r.Stale.Kept {
		t.Errorf("%v\n%v", r.Log, r.Stale)
	}
}
