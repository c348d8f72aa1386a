package http

import (
	"cmp"
	"slices"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/http/api"
)

// receiverFigures finds what this node counted for subscribers and links.
// The nil map has no figures at all.
type receiverFigures map[topics.ID]delivery.TopicStats

// figures takes this node's counts as they are now.
func (s *Server) figures() receiverFigures {
	if s.config.Figures == nil {
		return nil
	}
	all := s.config.Figures.Stats().Topics
	by := make(receiverFigures, len(all))
	for _, t := range all {
		by[t.ID] = t
	}
	return by
}

// receiver returns the figures of a subscription, or of a link that leaves
// the graph. Where no event came yet nothing happened.
func (f receiverFigures) receiver(t *topics.Topic, serial uint64) *api.Figures {
	if f == nil {
		return nil
	}
	all := f[t.ID].Receivers
	i, found := slices.BinarySearchFunc(all, serial, func(r delivery.ReceiverStats, serial uint64) int { return cmp.Compare(r.Serial, serial) })
	if found {
		return figuresOf(all[i])
	}
	return &api.Figures{State: "idle", Dropped: map[string]uint64{}}
}

// passed counts what a link let pass.
func (f receiverFigures) passed(t *topics.Topic, serial uint64) uint64 { return f[t.ID].Passed[serial] }

func figuresOf(r delivery.ReceiverStats) *api.Figures {
	f := &api.Figures{
		State: r.State, Offered: r.Offered, Delivered: r.Delivered, Dropped: map[string]uint64{}, Queued: r.Queued, QueuedBytes: r.QueuedBytes,
		OldestSeconds: r.Oldest.Seconds(), Address: r.Address, LastError: r.LastError, LastFailure: r.LastFailure.UTC(),
	}
	for _, reason := range delivery.Reasons() {
		if n := r.Dropped[reason]; n > 0 {
			f.Dropped[reason.String()] = n
		}
	}
	return f
}
