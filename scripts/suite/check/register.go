package check

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"floe/scripts/suite/history"
)

// perKey is how many operations of one key go to porcupine: its time grows
// steeply with the open ones.
const perKey = 200

// finals is how many reads at the end there are at most.
const finals = 5

// Register checks C2: the operations on each topic, and on each link, happened
// as if one after another, each at a moment between its call and its return.
// Pictures of bad keys go to dir, if it is not empty. All keys together get
// the time given; a key it does not suffice for is a violation, since nothing
// is known about it.
func Register(ops []history.Op, limit time.Duration, dir string) Verdict {
	v := newVerdict("C2 control operations and reads are linearizable")
	deadline := time.Now().Add(limit)
	keys, lists := keyed(ops)
	checked := 0
	for _, key := range sorted(keys) {
		list := keys[key].operations(key, lists, max(5, allLists/len(keys)))
		if len(list) < 2 {
			continue
		}
		checked += len(list)
		left := max(time.Until(deadline), time.Millisecond)
		result, info := porcupine.CheckOperationsVerbose(register, list, left)
		if result == porcupine.Ok {
			continue
		}
		v.breach("%s: %s%s", key, words[result], picture(dir, key, info))
	}
	v.Checked = fmt.Sprintf("%d operations on %d keys", checked, len(keys))
	return *v
}

var words = map[porcupine.CheckResult]string{
	porcupine.Illegal: "no order of its operations explains what was seen",
	porcupine.Unknown: "too many open operations to decide in time",
}

// picture stores porcupine's page of a history and returns where it is.
func picture(dir, key string, info porcupine.LinearizationInfo) string {
	if dir == "" {
		return ""
	}
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/> ", r) {
			return '_'
		}
		return r
	}, key)
	path := filepath.Join(dir, "history-"+safe+".html")
	if err := porcupine.VisualizePath(register, info, path); err != nil {
		return fmt.Sprintf(" (no picture: %v)", err)
	}
	return " (see " + filepath.Base(path) + ")"
}

// keyHistory is what concerns one key: its own operations.
type keyHistory struct{ own []history.Op }

// allLists bounds how many reads of everything are looked at, over all keys.
const allLists = 400_000

// operations returns the part that is checked: the key's own operations, the
// reads at the end, and some of the reads of everything, which may be left out
// without making a good history bad. Where a key has too many operations of its own,
// the first 200 are checked and the end is left out.
func (k *keyHistory) operations(key string, lists []history.Op, most int) []porcupine.Operation {
	chosen := slices.Clip(k.own)
	if len(chosen) > perKey-finals {
		chosen = cut(k.own)
	} else {
		room := min(perKey-finals-len(chosen), most)
		for i, o := range lists {
			if o.Func != "final" && i%(len(lists)/max(1, room)+1) != 0 || o.End < k.own[0].Start {
				continue
			}
			if read, told := readOf(key, o); told {
				chosen = append(chosen, read)
			}
		}
	}
	out := make([]porcupine.Operation, 0, len(chosen))
	for i, o := range chosen {
		out = append(out, porcupine.Operation{ClientId: i % 20, Input: input{o.Func, *brief(o.In)}, Output: output{o.Outcome, *brief(o.Out)}, Call: o.Start, Return: o.End})
	}
	return out
}

// cut keeps the operations begun before the one numbered perKey. What they
// saw can only be explained by operations begun before they ended, so those
// that ended after the cut become open and their results unknown.
func cut(ops []history.Op) []history.Op {
	if len(ops) <= perKey {
		return ops
	}
	limit := ops[perKey].Start
	out := make([]history.Op, perKey)
	for i, o := range ops[:perKey] {
		if o.End >= limit {
			o.Outcome, o.Out, o.End = history.Info, &history.Value{}, history.Never
		}
		out[i] = o
	}
	return out
}

// brief drops what a key's model does not need, so that states compare.
func brief(v *history.Value) *cell {
	return &cell{v.ID, v.Cost, v.Absent, v.Refused, v.Owner, v.Table, v.Was}
}

type cell struct {
	ID      uint64
	Cost    int32
	Absent  bool
	Refused bool
	Owner   string
	Table   uint64
	Was     uint64
}

type input struct {
	Func  string
	Value cell
}

type output struct {
	Outcome history.Type
	Value   cell
}

// keyed sorts operations by the register they belong to, and gives those that
// read everything. Failed ones have no effect and saw nothing; reads of unknown
// outcome saw nothing. Registers of links are judged only where no topic of theirs was
// ever destroyed, since that removes the link as well.
func keyed(ops []history.Op) (keys map[string]*keyHistory, lists []history.Op) {
	keys = map[string]*keyHistory{}
	destroyed := map[string]bool{}
	for _, o := range ops {
		destroyed[o.Key] = destroyed[o.Key] || o.Func == "destroy"
	}
	for _, o := range ops {
		if key, ok := registerOf(o, destroyed); ok {
			if keys[key] == nil {
				keys[key] = &keyHistory{}
			}
			keys[key].own = append(keys[key].own, o)
		}
		if o.Outcome == history.OK && (o.Func == "topics" || o.Func == "final") {
			lists = append(lists, o)
		}
	}
	return keys, lists
}

func registerOf(o history.Op, destroyed map[string]bool) (string, bool) {
	if o.Outcome == history.Fail || isRead(o.Func) && o.Outcome != history.OK {
		return "", false
	}
	switch o.Func {
	case "create", "destroy", "exists":
		return "topic " + o.Key, true
	case "link", "relink", "unlink", "cost":
		from, to := Ends(o.Key)
		return "link " + o.Key, !destroyed[from] && !destroyed[to]
	case "own", "disown", "owner":
		return "meid " + o.Key, true
	case "load", "swap", "routes":
		return "table", !o.Out.Refused // a refusal is about the version, which MEIDs change as well
	}
	return "", false
}

func isRead(function string) bool {
	switch function {
	case "exists", "cost", "owner", "routes":
		return true
	}
	return false
}

// readOf makes a read of everything a read of one register, where it tells
// anything about that.
func readOf(key string, o history.Op) (read history.Op, told bool) {
	read = o
	kind, name, _ := strings.Cut(key, " ")
	switch {
	case kind == "topic":
		id, there := o.Out.Topics[name]
		read.Func, read.Out = "exists", &history.Value{ID: id, Absent: !there}
	case o.Func != "final" || kind == "table": // a list of topics says nothing else
		return read, false
	case kind == "meid":
		owner, there := o.Out.Owners[name]
		read.Func, read.Out = "owner", &history.Value{Owner: owner, Absent: !there}
	default:
		cost, there := o.Out.Links[name]
		read.Func, read.Out = "cost", &history.Value{Cost: cost, Absent: !there}
	}
	return read, true
}

// unknownID is the id of a topic whose making was never answered.
const unknownID = math.MaxUint64

// state is a register: a topic with its id, a link with its cost, an MEID with
// its owner, or the route table with its number.
type state struct {
	There bool
	ID    uint64
	Cost  int32
	Owner string
	Table uint64
}

var register = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, out any) (bool, any) { return step(s.(state), in.(input), out.(output)) },
	DescribeOperation: func(in, out any) string {
		i, o := in.(input), out.(output)
		return fmt.Sprintf("%s %+v -> %s %+v", i.Func, i.Value, o.Outcome, o.Value)
	},
	DescribeState: func(s any) string { return fmt.Sprintf("%+v", s) },
}

// step is the register's sequential meaning. An operation of unknown outcome
// may do what it asks for or be refused, whichever the state says.
func step(s state, in input, out output) (bool, state) {
	known := out.Outcome == history.OK
	switch in.Func {
	case "create":
		return s.make(known, out.Value, state{There: true, ID: newID(known, out.Value.ID)})
	case "link":
		return s.make(known, out.Value, state{There: true, Cost: in.Value.Cost})
	case "relink":
		return !out.Value.Refused, state{There: true, Cost: in.Value.Cost}
	case "destroy", "unlink":
		return !known || s.There != out.Value.Refused, state{}
	case "exists":
		if !known {
			return true, s
		}
		return s.seen(out.Value)
	case "own":
		return true, state{There: true, Owner: in.Value.Owner}
	case "disown":
		return true, state{}
	case "owner":
		return !known || s.There != out.Value.Absent && s.Owner == out.Value.Owner, s
	case "load":
		return true, state{Table: in.Value.Table}
	case "swap":
		return s.swap(known, in.Value)
	case "routes":
		return !known || s.Table == out.Value.Table, s
	case "cost":
		return !known || s.There != out.Value.Absent && (!s.There || s.Cost == out.Value.Cost), s
	}
	return false, s
}

// swap is a change of one very table. One of unknown outcome may come too late
// for that.
func (s state) swap(known bool, in cell) (bool, state) {
	if s.Table == in.Was {
		return true, state{Table: in.Table}
	}
	return !known, s
}

func newID(known bool, id uint64) uint64 {
	if known && id != 0 {
		return id
	}
	return unknownID
}

// make is create or link: refused exactly where the record is there.
func (s state) make(known bool, out cell, made state) (bool, state) {
	after := made
	if s.There {
		after = s
	}
	return !known || s.There == out.Refused, after
}

// seen is a read of a topic; it tells the id of one made without an answer.
func (s state) seen(out cell) (bool, state) {
	if !s.There || out.Absent {
		return s.There != out.Absent, s
	}
	if s.ID == unknownID {
		return true, state{There: true, ID: out.ID}
	}
	return s.ID == out.ID, s
}
