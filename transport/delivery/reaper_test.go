package delivery

import "testing"

// One log entry has a thousand removals at most; the rest is for the next one, which is asked for at once.
func TestRemovalsOfOneEntry(t *testing.T) {
	p := &reaper{}
	set := map[*Receiver]Failure{}
	for range maxVerdicts + 5 {
		set[&Receiver{}] = Failure{}
	}
	added := make(chan struct{}, 1)
	for i, want := range []int{maxVerdicts, 5} {
		if got := len(p.take(&set, added)); got != want {
			t.Errorf("entry %d has %d, want %d", i+1, got, want)
		}
		if more := len(added) == 1; more != (i == 0) {
			t.Errorf("after entry %d another is asked for: %t", i+1, more)
		}
		if i == 0 {
			<-added
		}
	}
}
