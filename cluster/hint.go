package cluster

import (
	"context"

	"github.com/hashicorp/raft"
)

// hint tells the followers at once what was committed. Raft itself tells them
// with the next entries, or after CommitTimeout: a follower that forwarded a
// change would wait that long for it to reach its own copy.
//
// What is sent is an ordinary, empty AppendEntries of this node's own term,
// about an entry of that term: a message that Raft might have sent itself,
// and harmless however late it comes.
func (h *half) hint(ctx context.Context) {
	peers := map[string]chan raft.AppendEntriesRequest{}
	for {
		select {
		case <-h.replica.nudge:
		case <-ctx.Done():
			return
		}
		request, ok := h.hintRequest()
		if !ok {
			continue
		}
		for _, s := range h.n.View().Servers {
			if s.ID == h.n.id {
				continue
			}
			if peers[s.ID] == nil {
				ch := make(chan raft.AppendEntriesRequest, 1)
				peers[s.ID] = ch
				h.wg.Go(func() { h.hintPeer(ctx, s.ID, ch) })
			}
			replace(peers[s.ID], request)
		}
	}
}

// replace puts a newer request in the place of one that waits.
func replace(ch chan raft.AppendEntriesRequest, request raft.AppendEntriesRequest) {
	select {
	case <-ch:
	default:
	}
	ch <- request
}

// hintRequest returns the message, unless this node does not lead, or
// another entry is under way that will carry the news.
func (h *half) hintRequest() (raft.AppendEntriesRequest, bool) {
	last := h.replica.latest.Load()
	// Leader between two equal looks at the term: leader of that term.
	if last == nil || h.raft.CurrentTerm() != last.term || h.raft.State() != raft.Leader || h.raft.CurrentTerm() != last.term {
		return raft.AppendEntriesRequest{}, false
	}
	if h.raft.LastIndex() != last.index {
		return raft.AppendEntriesRequest{}, false
	}
	id := raft.ServerID(h.n.id)
	return raft.AppendEntriesRequest{
		RPCHeader:         raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: h.trans.EncodePeer(id, raft.ServerAddress(id))},
		Term:              last.term,
		PrevLogEntry:      last.index,
		PrevLogTerm:       last.term,
		LeaderCommitIndex: last.index,
	}, true
}

func (h *half) hintPeer(ctx context.Context, id string, requests <-chan raft.AppendEntriesRequest) {
	for {
		select {
		case request := <-requests:
			var reply raft.AppendEntriesResponse
			// It may fail: raft's own message follows.
			_ = h.trans.tryEntries(raft.ServerID(id), raft.ServerAddress(id), &request, &reply)
		case <-ctx.Done():
			return
		}
	}
}
