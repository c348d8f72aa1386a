package rmrapp

import (
	"context"
	"errors"
	"fmt"
)

// Fleet is many Apps.
type Fleet []*App

// StartFleet starts n Apps, the i-th, from 0, with the configuration that
// cfg returns for i. If one can't be started, none is.
func StartFleet(n int, cfg func(i int) Config) (Fleet, error) {
	f := make(Fleet, 0, n)
	for i := range n {
		a, err := Start(cfg(i))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("app %d: %w", i, err)
		}
		f = append(f, a)
	}
	return f, nil
}

// Close closes all Apps.
func (f Fleet) Close() {
	for _, a := range f {
		a.Close()
	}
}

// Wait returns once ok has held for every App, or the error of [App.Wait].
func (f Fleet) Wait(ctx context.Context, what string, ok func(*App) bool) error {
	for _, a := range f {
		if err := a.Wait(ctx, what, ok); err != nil {
			return err
		}
	}
	return nil
}

// Faults returns the faults of all Apps as one error, nil if there are none.
func (f Fleet) Faults() error {
	var all []error
	for _, a := range f {
		for _, fault := range a.Faults() {
			all = append(all, fmt.Errorf("app %s: %v", a.ID(), fault))
		}
	}
	return errors.Join(all...)
}
