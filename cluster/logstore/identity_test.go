package logstore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var member = Identity{ClusterID: "c1", NodeID: "n2", Incarnation: "i7", State: Member, VoteTerm: 4, CommitIndex: 50}

func TestIdentityRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadIdentity(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: got %v, want ErrNotExist", err)
	}
	for _, want := range []Identity{{NodeID: "n1", Incarnation: "i1", State: New, PromisedTo: "c9"}, member} {
		if err := WriteIdentity(dir, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadIdentity(dir)
		if err != nil {
			t.Fatal(err)
		}
		got.Checksum = ""
		diff(t, "identity", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, identityFile+tmpSuffix)); err == nil {
		t.Error("the temporary file is still there")
	}
}

func TestDamagedIdentityNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := WriteIdentity(dir, member); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, identityFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{
		"empty":         {},
		"zeroed":        make([]byte, len(whole)),
		"cut":           whole[:len(whole)/2],
		"node changed":  bytes.Replace(whole, []byte(`"n2"`), []byte(`"n3"`), 1),
		"state changed": bytes.Replace(whole, []byte(`"member"`), []byte(`"joining"`), 1),
		"sum changed":   bytes.Replace(whole, []byte(`crc32c:`), []byte(`crc32d:`), 1),
		"unknown field": bytes.Replace(whole, []byte(`"node_id"`), []byte(`"node_ie"`), 1),
		"twice":         append(bytes.Clone(whole), whole...),
		"not json":      []byte("node_id = n2\n"),
	}
	for name, b := range damage {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadIdentity(dir)
		if !is[*CorruptError](err) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want CorruptError with the path", name, err)
		}
	}
}

func TestIdentityThatMakesNoSenseIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []Identity{{}, {NodeID: "n"}, {NodeID: "n", Incarnation: "i", State: "guest"}, {NodeID: "n", Incarnation: "i", State: Member}} {
		if err := WriteIdentity(dir, id); err == nil {
			t.Errorf("%+v: got no error", id)
		}
	}
}

func TestCheckHistory(t *testing.T) {
	fresh := Identity{NodeID: "n2", Incarnation: "i1", State: New}
	good := History{Last: 60, Snapshot: 40, VoteTerm: 4, Owner: "c1/n2/i7"}
	tests := []struct {
		name    string
		id      Identity
		readErr error
		h       History
		want    string // part of the reason, "" for fine
	}{
		{"first start", Identity{}, fs.ErrNotExist, History{}, ""},
		{"new node", fresh, nil, History{}, ""},
		{"joining node with an empty log", Identity{ClusterID: "c1", NodeID: "n2", Incarnation: "i7", State: Joining}, nil, History{}, ""},
		{"member", member, nil, good, ""},
		{"member with a later vote", member, nil, History{Last: 60, VoteTerm: 9}, ""},
		{"log compacted into a snapshot", member, nil, History{Snapshot: 70, VoteTerm: 4}, ""},
		{"identity lost", Identity{}, fs.ErrNotExist, good, "no identity.json"},
		{"emptied", member, nil, History{}, "are empty"},
		{"older log", member, nil, History{Last: 49, VoteTerm: 4}, "end at index 49"},
		{"older votes", member, nil, History{Last: 60, VoteTerm: 3}, "voted in term 4"},
		{"log of another node", member, nil, History{Last: 60, VoteTerm: 4, Owner: "c1/n3/i7"}, "belongs to c1/n3/i7"},
		{"log of another cluster", member, nil, History{Last: 60, VoteTerm: 4, Owner: "c2/n2/i7"}, "belongs to c2/n2/i7"},
		{"log of an earlier incarnation", member, nil, History{Last: 60, VoteTerm: 4, Owner: "c1/n2/i6"}, "belongs to c1/n2/i6"},
	}
	for _, tt := range tests {
		err := CheckHistory("/var/floe", tt.id, tt.readErr, tt.h)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: got %v, want none", tt.name, err)
			}
			continue
		}
		if !is[*ForeignDataError](err) {
			t.Errorf("%s: got %v, want ForeignDataError", tt.name, err)
			continue
		}
		parts := []string{"/var/floe", tt.want, "--join"}
		if tt.readErr == nil {
			parts = append(parts, "n2", "floe remove n2 --force")
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q lacks %q", tt.name, err, part)
			}
		}
	}
	damaged := &CorruptError{File: "identity.json", Err: errChecksum}
	if err := CheckHistory("d", Identity{}, damaged, History{}); !is[*CorruptError](err) {
		t.Errorf("damaged identity: got %v, want CorruptError", err)
	}
}

func TestHistoryOfAStore(t *testing.T) {
	s := open(t, t.TempDir(), Config{})
	got, err := s.History(0)
	diff(t, "empty", got, History{})
	if err != nil {
		t.Fatal(err)
	}
	mustStore(t, s, entries(1, 7))
	s.SetUint64(keyVoteTerm, 6)
	if err := s.SetOwner(member); err != nil {
		t.Fatal(err)
	}
	got, err = s.History(5)
	diff(t, "history", got, History{Last: 7, Snapshot: 5, VoteTerm: 6, Owner: "c1/n2/i7"})
	if err != nil {
		t.Fatal(err)
	}
}
