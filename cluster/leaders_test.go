package cluster

import "testing"

func TestAskingALeaderEndsWithItsReign(t *testing.T) {
	w := newLeaderWatch()
	w.set("a")
	asking, cancel := w.during(t.Context(), "a")
	defer cancel()
	w.set("a")
	if asking.Err() != nil {
		t.Fatal("it ended though nothing changed")
	}
	w.set("")
	<-asking.Done()
	late, cancel := w.during(t.Context(), "a")
	defer cancel()
	<-late.Done()
	w.set("b")
	next, cancel := w.during(t.Context(), "b")
	cancel()
	<-next.Done()
}
