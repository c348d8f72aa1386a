package fsm

// remembered is how many requests the state remembers.
const remembered = 8192

// requestLog remembers the results of the latest requests, so that a
// repeated one takes effect once. It forgets by count and never by time, so
// that all nodes forget alike.
type requestLog struct {
	results map[RequestID]Result
	order   []RequestID // a ring of the ids in the order they came
	next    int         // where the ring goes on
	floor   uint64      // highest index of what was forgotten
}

// past is one remembered request, as a snapshot holds it.
type past struct {
	Request []byte `codec:"q"`
	Result  Result `codec:"r"`
}

func newRequestLog() *requestLog {
	return &requestLog{results: make(map[RequestID]Result)}
}

// answer returns the first result of a command that comes again. known is
// false where the command is to be applied.
func (l *requestLog) answer(c Command) (result Result, known bool) {
	if c.Request == (RequestID{}) {
		return Result{}, false
	}
	if r, found := l.results[c.Request]; found {
		return r, true
	}
	if c.Repeat && c.Base < l.floor {
		return Result{Refused: &Refusal{Kind: ErrForgotten}}, true
	}
	return Result{}, false
}

func (l *requestLog) remember(id RequestID, r Result) {
	if id == (RequestID{}) {
		return
	}
	l.results[id] = r
	if len(l.order) < remembered {
		l.order = append(l.order, id)
		return
	}
	old := l.order[l.next]
	l.floor = max(l.floor, l.results[old].Index)
	delete(l.results, old)
	l.order[l.next] = id
	l.next = (l.next + 1) % remembered
}

// list returns what is remembered, oldest first.
func (l *requestLog) list() []past {
	out := make([]past, 0, len(l.order))
	for i := range l.order {
		id := l.order[(l.next+i)%len(l.order)]
		out = append(out, past{Request: id[:], Result: l.results[id]})
	}
	return out
}
