package check_test

import (
	"strings"
	"testing"

	"floe/scripts/suite/check"
)

func TestDamaged(t *testing.T) {
	const what = "byte 7 of /lab/n2/data/raft.db"
	for name, c := range map[string]struct {
		damage *check.Damage
		broken bool
		counts string
	}{
		"none":                {nil, false, "0 files damaged: 0 times the node served, 0 times"},
		"served":              {&check.Damage{What: what, Serves: true}, false, "1 files damaged: 1 times the node served, 0 times"},
		"named":               {&check.Damage{What: what, Words: "error: /lab/n2/data/raft.db: checksum of entry 5 is wrong"}, false, "1 files damaged: 0 times the node served, 1 times"},
		"directory named":     {&check.Damage{What: what, Words: "error: the data in /lab/n2/data is damaged"}, false, "1 files damaged: 0 times the node served, 1 times"},
		"hung":                {&check.Damage{What: what}, true, "1 files damaged"},
		"not named":           {&check.Damage{What: what, Words: "error: something is wrong"}, true, "1 files damaged"},
		"a trace":             {&check.Damage{What: what, Words: "panic: /lab/n2/data/raft.db\n\ngoroutine 1 [running]:"}, true, "1 files damaged"},
		"a trace that is cut": {&check.Damage{What: what, Words: "goroutine 1 [running]:\n/lab/n2/data/raft.db"}, true, "1 files damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			v := check.Damaged([]check.Fault{{Kind: "kill"}, {Kind: "damage", Nodes: []string{"n2"}, Damage: c.damage}})
			judge(t, v, c.broken)
			if !strings.HasPrefix(v.Checked, c.counts) {
				t.Errorf("looked at %q, want %q", v.Checked, c.counts)
			}
		})
	}
}
