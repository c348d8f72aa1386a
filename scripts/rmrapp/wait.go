package rmrapp

import (
	"context"
	"fmt"
	"strings"
)

// Wait returns once ok holds, which it asks whenever something happened to
// the App: a request, a table message, a fault, a message, the end of a connection. It returns an error that says
// what was waited for and how the App is, if ctx ends first.
func (a *App) Wait(ctx context.Context, what string, ok func(*App) bool) error {
	for {
		change := a.change()
		if ok(a) {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("app %s: never %s: %w; %s", a.ID(), what, ctx.Err(), a.describe())
		}
	}
}

// WaitReady waits until a table is in use.
func (a *App) WaitReady(ctx context.Context) error { return a.Wait(ctx, "ready", (*App).Ready) }

// WaitTable waits until the newest event is that a table with the id was applied.
func (a *App) WaitTable(ctx context.Context, id string) error {
	return a.Wait(ctx, fmt.Sprintf("at table %q", id), func(a *App) bool {
		e, ok := a.Last()
		return ok && e.Applied && e.ID == id
	})
}

// change returns a channel that is closed when something happens.
func (a *App) change() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changes == nil {
		a.changes = make(chan struct{})
	}
	return a.changes
}

// wake has those who wait look again.
func (a *App) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changedLocked()
}

func (a *App) changedLocked() {
	if a.changes != nil {
		close(a.changes)
		a.changes = nil
	}
}

func (a *App) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", a.Stats())
	events := a.History()
	for _, e := range events[max(0, len(events)-5):] {
		fmt.Fprintf(&b, "\n\t%v", e)
	}
	for _, f := range a.Faults() {
		fmt.Fprintf(&b, "\n\tfault: %v", f)
	}
	return b.String()
}
