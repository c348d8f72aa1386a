package fsm

import (
	"errors"
	"testing"
)

// The largest backup is made of one piece that stands there many times, so that it costs no memory.
func TestBackupIsBounded(t *testing.T) {
	piece := make([]byte, 4<<20)
	s := staged{ID: 9}
	for s.size()+len(piece) < MaxBackup {
		s.Parts = append(s.Parts, piece)
	}
	state := New(Config{})
	v := *state.View()
	v.ClusterID, v.Version, v.restore = "c0", ProgramVersion, &s
	for size, want := range map[int]error{len(piece): nil, len(piece) + 1: ErrBackup} {
		r, err := v.Try(StageRestore{Restore: 9, Part: len(s.Parts), Data: make([]byte, size)})
		if got := r.Err(); err != nil || !errors.Is(got, want) {
			t.Errorf("%d bytes more: %v (%v), want %v", size, got, err, want)
		}
	}
}
