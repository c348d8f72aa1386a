package nbi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
)

// Group is the replicated state as this face needs it; *cluster.Node is one.
type Group interface {
	// View returns this node's copy of the state.
	View() *fsm.View
	// Changed returns a channel that is closed at the next change of the
	// View. Take it before looking at the View.
	Changed() <-chan struct{}
	// Propose returns once the View has the change, or with what went wrong.
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
}

// Config says what a [Server] serves.
type Config struct {
	// Group is needed.
	Group Group
	// Ready is nil once the node has caught up with a leader, else it says
	// why not. A nil function: it always has.
	Ready func() error
	// XApps asks the application manager for its list when it announces a
	// change; nil: what it announces is taken as it stands.
	XApps XApps
	// CommitWithin is how long a call may wait for its commit; 0: 1.8 s, as
	// submgr waits 2 s for the answer and doesn't ask again.
	CommitWithin time.Duration
	// AppliedWithin is how long ?wait=applied waits for the apps unless the
	// call says otherwise; 0: 10 s.
	AppliedWithin time.Duration
	// Log gets what an operator should know; nil: silence.
	Log hclog.Logger
}

// XApps makes the application manager's list the xApps that are known;
// *[Sources] does.
type XApps interface {
	PullXApps(ctx context.Context) error
}

func (c Config) filled() Config {
	c.CommitWithin = cmp.Or(c.CommitWithin, 1800*time.Millisecond)
	c.AppliedWithin = cmp.Or(c.AppliedWithin, 10*time.Second)
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return c
}

// URLs say where the managers are. An empty one is not asked.
type URLs struct {
	// XApps is appmgr's list of xApps, as http://HOST:8080/ric/v1/xapps
	// (XMURL in the old manager's file).
	XApps string
	// E2Ts is e2mgr's list of E2Ts, as http://HOST:3800/v1/e2t/list (E2MURL).
	E2Ts string
	// Subscriptions is submgr's list, as http://HOST:8088/ric/v1/subscriptions.
	Subscriptions string
	// Hooks is where appmgr takes web hooks, as
	// http://HOST:8080/ric/v1/subscriptions; asked only together with Target.
	Hooks string
	// Target is where appmgr is to announce changes: one stable address of
	// this face, as http://VIRTUAL-IP:3800/ric/v1/handles/xapp-handle/.
	Target string
}

// SourcesConfig says which managers [Sources] asks, and when.
type SourcesConfig struct {
	// Group is needed.
	Group Group
	URLs  URLs
	// Leads says whether this node is the leader: others ask nobody. A nil
	// function: it is.
	Leads func() bool
	// LeaderChanged returns a channel that is closed when Leads may answer
	// otherwise. Take it before asking Leads. A nil function: never.
	LeaderChanged func() <-chan struct{}
	// Every is the time between two questions; 0: a minute.
	Every time.Duration
	// Retry is the time after a question that failed, for the first 10
	// failures in a row; 0: 2 s.
	Retry time.Duration
	// Confirm is the time after which a difference is looked at again; 0: 10 s.
	Confirm time.Duration
	// Timeout bounds one question; 0: 10 s.
	Timeout time.Duration
	// Client makes the calls; nil: one that goes by the environment's proxy.
	Client *http.Client
	// Log gets what an operator should know; nil: silence.
	Log hclog.Logger
}

func (c SourcesConfig) filled() SourcesConfig {
	c.Every = cmp.Or(c.Every, time.Minute)
	c.Retry = cmp.Or(c.Retry, 2*time.Second)
	c.Confirm = cmp.Or(c.Confirm, 10*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if c.Leads == nil {
		c.Leads = func() bool { return true }
	}
	if c.LeaderChanged == nil {
		c.LeaderChanged = func() <-chan struct{} { return nil }
	}
	if c.Client == nil {
		c.Client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return c
}
