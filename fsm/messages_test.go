package fsm_test

import (
	"errors"
	"testing"

	"floe/fsm"
	"floe/topics"
)

// messagesNode is a node with links to messages.
func messagesNode() *node {
	n := graphNode()
	n.op(fsm.RaiseVersion{Version: 3})
	n.op(linkTo(topics.Messages{MType: 12050, SubID: 3}))
	n.op(linkTo(topics.Messages{MType: 12050, SubID: -1}))
	return n
}

func linkTo(m topics.Messages) fsm.Link {
	to := topics.ToMessages(m)
	return fsm.Link{From: "a", Remote: &to, Cost: -2}
}

// A program of an older cluster version would take such a link for one to an
// IceStorm, so there is none before all know it.
func TestLinksToMessagesWaitForTheClusterVersion(t *testing.T) {
	n := graphNode()
	n.op(fsm.RaiseVersion{Version: 2})
	link := linkTo(topics.Messages{MType: 7, SubID: -1})
	for _, op := range []fsm.Op{link, fsm.Batch{Ops: []fsm.Op{fsm.CreateTopic{Name: "x"}, link}}} {
		if r, err := n.View().Try(op); err != nil || !errors.Is(r.Err(), fsm.ErrVersion) {
			t.Errorf("%T at version 2: %v, %v", op, r.Err(), err)
		}
	}
	n.op(fsm.RaiseVersion{Version: 3})
	if r, err := n.View().Try(link); err != nil || r.Err() != nil {
		t.Errorf("at version 3: %v, %v", r.Err(), err)
	}
}
