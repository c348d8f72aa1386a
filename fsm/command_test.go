package fsm_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/routing"
	"floe/routing/derive"
	"floe/topics"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds one command of every kind. Their bytes are on people's disks:
// a golden file may be added, never changed.
func golden() map[string]fsm.Command {
	id := topics.Identity{Name: "sub", Category: "cat"}
	mtype := int32(12050)
	ops := map[string]fsm.Op{
		"init":          fsm.Init{ClusterID: "6e1c", Instance: "IceStorm", Version: 1},
		"barrier":       fsm.Barrier{},
		"create-topic":  fsm.CreateTopic{Name: "clock"},
		"destroy-topic": fsm.DestroyTopic{Name: "clock"},
		"link":          fsm.Link{From: "a", To: "b", Cost: -3, Replace: true},
		"link-remote": fsm.Link{From: "a", Cost: 5, Remote: &topics.Remote{
			Identity: topics.Identity{Name: "topic.b", Category: "Other"}, Proxy: []byte{1, 2}, Cluster: "6e1d", Topic: 7}},
		"link-messages": fsm.Link{From: "a", Cost: 5, Remote: &topics.Remote{
			Identity: topics.Identity{Name: "12050/3", Category: "rmr"}, Messages: &topics.Messages{MType: 12050, SubID: 3}}},
		"unlink": fsm.Unlink{From: "a", Target: topics.Identity{Name: "topic.b", Category: "IceStorm"}},
		"subscribe": fsm.Subscribe{Topic: "a", Subscription: topics.Subscription{
			Identity: id, Proxy: []byte{3, 4}, QoS: []topics.Setting{{Key: "retryCount", Value: "-1"}}}},
		"unsubscribe":   fsm.Unsubscribe{Topic: "a", Identity: id},
		"reap":          fsm.Reap{Verdicts: []fsm.Verdict{{Topic: 1, Identity: id, Serial: 9, Reason: "object not exist"}}},
		"batch":         fsm.Batch{Ops: []fsm.Op{fsm.CreateTopic{Name: "a"}, fsm.DestroyTopic{Name: "b"}}},
		"set-member":    fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 2, Addresses: map[string][]string{"peer": {"127.0.0.2:7400"}, "ice": {"tcp -h 127.0.0.2 -p 10000"}}, Program: "0.1.0", Supports: 1}},
		"drop-member":   fsm.DropMember{ID: "n1"},
		"set-cluster":   fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "6e1d", Instance: "IceStorm", Addresses: []string{"10.0.0.1:7400"}}},
		"drop-cluster":  fsm.DropCluster{Name: "east"},
		"raise-version": fsm.RaiseVersion{Version: 2},

		"stage-restore":  fsm.StageRestore{Restore: 7, Part: 1, Data: []byte{1, 2}},
		"commit-restore": fsm.CommitRestore{Restore: 7, Parts: 2},
		"change-routes": fsm.ChangeRoutes{If: fsm.AtVersion(0), Blocks: []fsm.RouteBlock{
			{Kind: routing.FullTable, Records: []fsm.RouteRecord{
				{Verb: routing.Route, MType: 20, SubID: -1, Groups: [][]string{{"a:1", "b:1"}, {"c:1"}}},
				{Verb: routing.Route, MType: 20, SubID: -1, Senders: []string{"d:1"}, ByMEID: true},
				{Verb: routing.Unroute, MType: 20, SubID: -1, Senders: []string{"e:1"}}}},
			{Kind: routing.MapUpdate, Records: []fsm.RouteRecord{
				{Verb: routing.Assign, Owner: "e2:38000", MEIDs: []string{"g1", "g2"}},
				{Verb: routing.Release, MEIDs: []string{"g3"}}}}}},
		"stage-routes": fsm.StageRoutes{Load: 7, Part: 1, Blocks: []fsm.RouteBlock{
			{Kind: routing.TableDelta, Records: []fsm.RouteRecord{{Verb: routing.Route, MType: 21, SubID: 3, Groups: [][]string{{"a:1"}}}}}}},
		"commit-routes":        fsm.CommitRoutes{Load: 7, Parts: 2, If: fsm.AtVersion(19)},
		"destroy-topic-forced": fsm.DestroyTopic{Name: "clock", Force: true},
		"register-app":         fsm.RegisterApp{Name: "app1:4560", Control: []string{"app1:4561", "10.0.0.5:4561"}, Node: "n1", Time: 1700000000000000002},
		"forget-apps":          fsm.ForgetApps{Apps: []fsm.AppRef{{Name: "app1:4560", Serial: 9}}, Reason: "silent for 24h"},
		"ack-apps":             fsm.AckApps{Acks: []fsm.AppAck{{Name: "app1:4560", Serial: 9, Version: 8}}},
		"set-serving":          fsm.SetServing{Out: []string{"n2"}, In: []string{"n3"}, Assign: []fsm.Assignment{{Name: "app1:4560", Serial: 9, Node: "n1"}}},
		"set-relay":            fsm.SetRelay{On: true, MType: &mtype},
		"change-facts": fsm.ChangeFacts{Changes: []derive.Change{
			{Kind: derive.SetConfig, Config: &derive.Config{Components: []derive.Component{{Name: "SUBMAN", FQDN: "sub", Port: 4560}}}},
			{Kind: derive.Associate, E2T: "e2t:38000", RANs: []string{"g1"}},
			{Kind: derive.AddRoute, Route: &derive.Route{MType: 7, SubID: -1, Groups: [][]string{{"a:1"}}}}}},
		"set-token":   fsm.SetToken{Token: fsm.Token{Name: "ci", Role: fsm.RolePublish, Hash: fsm.HashToken("secret"), Made: 1700000000000000002, Ends: 1700000000000000003}},
		"drop-token":  fsm.DropToken{Name: "ci"},
		"spend-token": fsm.SpendToken{Hash: fsm.HashToken("secret"), Now: 1700000000000000002},
		"revert":      fsm.Revert{To: 17, Seen: 19},
		"set-probed":  fsm.SetProbed{Dead: []string{"a:1"}, Alive: []string{"b:1"}},
	}
	commands := make(map[string]fsm.Command, len(ops))
	for name, op := range ops {
		commands[name] = fsm.Command{Request: fsm.RequestID{0xab, 15: 0xcd}, Base: 300, Repeat: true, Time: 1700000000000000001, From: "ice 127.0.0.1:40000", Op: op}
	}
	return commands
}

// goldenBytes returns what a golden file holds, and says so where got is not
// that; with -update it is got from now on.
func goldenBytes(t *testing.T, file string, got []byte) []byte {
	t.Helper()
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
		t.Errorf("the bytes are\n%x, %s says\n%x", got, file, want)
	}
	return want
}

func TestGoldenCommands(t *testing.T) {
	seen := map[fsm.Kind]bool{}
	for name, c := range golden() {
		seen[c.Op.Kind()] = true
		got, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		want := goldenBytes(t, filepath.Join("testdata", "commands", name+".hex"), got)
		back, err := fsm.DecodeCommand(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(back, c); diff != "" {
			t.Errorf("%s: decoded (-got +want):\n%s", name, diff)
		}
	}
	for k := fsm.KindInit; k <= fsm.KindRevert; k++ {
		if !seen[k] {
			t.Errorf("kind %d has no golden file", k)
		}
	}
}

func TestUnreadableCommands(t *testing.T) {
	good, err := fsm.Command{Op: fsm.CreateTopic{Name: "a"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty":          nil,
		"other format":   append([]byte{9}, good[1:]...),
		"cut":            good[:len(good)-1],
		"trailing bytes": append(bytes.Clone(good), 0),
		"unknown kind":   {1, 0x80, 0xcd, 0x7f, 0xff, 0x80},
		"short id":       {1, 0x81, 0xa1, 'q', 0xc4, 1, 7, 3, 0x80},
	} {
		if _, err := fsm.DecodeCommand(b); !errors.Is(err, fsm.ErrCommand) {
			t.Errorf("%s: got %v, want %v", name, err, fsm.ErrCommand)
		}
	}
	nested := fsm.Command{Op: fsm.Batch{Ops: []fsm.Op{fsm.Batch{}}}}
	if _, err := nested.Encode(); err == nil {
		t.Error("a batch inside a batch was encoded")
	}
}

func TestResultTravels(t *testing.T) {
	want := fsm.Result{Index: 4, Parts: []fsm.Result{{Topic: 3}, {Serial: 5, Count: 1}}, Refused: &fsm.Refusal{Kind: topics.ErrExists, Name: "a", Detail: "d", Part: 2}}
	b, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := fsm.DecodeResult(b)
	if err != nil || !got.Equal(want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if !errors.Is(got.Err(), topics.ErrExists) || got.Err().Error() != fmt.Sprintf("part 2: %q: topic exists: d", "a") {
		t.Errorf("error text: %v", got.Err())
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range golden() {
		b, err := c.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := fsm.DecodeCommand(b)
		if err != nil {
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := fsm.DecodeCommand(again)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := back.Encode()
		if err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("%x encodes as %x and then as %x (%v)", b, again, twice, err)
		}
	})
}
