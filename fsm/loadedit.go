package fsm

import "floe/routing"

// loadEdit is the routes that a load is making, part by part, beside the
// goroutine that applies the log: while one part is worked in, what comes
// after it is read and applied. It is the one thing in a View that changes:
// only Apply touches it, in the order of the log, so that no part is carried
// out twice. A snapshot holds the parts, and the edit is made anew from them.
type loadEdit struct {
	half  *routing.Edit
	union *routing.UnionEdit

	busy   chan struct{} // closed when the work under way is done; nil: there was none yet
	err    error         // why the load can't be committed
	caught any           // what the work panicked with
}

// do begins some work once that before it is done. One piece at a time keeps
// a node that is slower than its leader from gathering parts.
func (e *loadEdit) do(work func() error) {
	if e.wait() != nil {
		return
	}
	busy := make(chan struct{})
	e.busy = busy
	go func() {
		defer close(busy)
		defer func() { e.caught = recover() }()
		e.err = work()
	}()
}

// wait returns once the work under way is done, with what went wrong. A panic
// of the work goes on here, where the entry that comes next is given up for it.
func (e *loadEdit) wait() error {
	if e.busy != nil {
		<-e.busy
	}
	if e.caught != nil {
		panic(e.caught)
	}
	return e.err
}

// commit ends the edit, all of whose work is done, and returns loaded routes,
// union and changes.
func (e *loadEdit) commit(r Routes) (next, union routing.State, changes routing.Changes) {
	e.union.Follow(r.derived())
	next, changes = e.half.Commit()
	union, ok := e.union.Commit(next)
	if !ok {
		union = r.union.Merge(next, r.derived(), changes)
	}
	return next, union, changes
}
