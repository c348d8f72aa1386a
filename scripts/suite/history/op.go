package history

import "math"

// Never is the end of an operation that nobody saw end.
const Never int64 = math.MaxInt64

// Op is an operation: an invocation and, where it came, its completion.
type Op struct {
	ID            uint64
	Process, Node string
	Func, Key     string
	// In is what was asked for, Out what was seen; never nil.
	In, Out *Value
	// Outcome is OK, Fail or Info.
	Outcome Type
	Error   string
	// Start and End are in nanoseconds; End is Never where the outcome is
	// unknown, since the effect may still come. Ended is when the client
	// gave up or got its answer.
	Start, End, Ended int64
}

// Pair joins the invocations with their completions, in the order of
// invocation. Notes are left out.
func Pair(events []Event) []Op {
	var ops []Op
	at := map[uint64]int{}
	for _, e := range events {
		switch e.Type {
		case Note:
		case Invoke:
			at[e.Op] = len(ops)
			ops = append(ops, invoked(e))
		default:
			if i, known := at[e.Op]; known {
				ops[i].complete(e)
			}
		}
	}
	return ops
}

func invoked(e Event) Op {
	return Op{ID: e.Op, Process: e.Process, Node: e.Node, Func: e.Func, Key: e.Key,
		In: orEmpty(e.Value), Out: &Value{}, Outcome: Info, Start: e.Time, End: Never, Ended: Never}
}

func (o *Op) complete(e Event) {
	o.Outcome, o.Error, o.Out, o.Ended = e.Type, e.Error, orEmpty(e.Value), e.Time
	if e.Type != Info {
		o.End = e.Time
	}
}

func orEmpty(v *Value) *Value {
	if v == nil {
		return &Value{}
	}
	return v
}
