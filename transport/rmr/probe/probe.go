package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
)

// Group is what a [Prober] needs of the cluster; *cluster.Node has it.
type Group interface {
	ID() string
	View() *fsm.View
	IsLeader() bool
	LeaderID() string
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
	Call(ctx context.Context, node, method string, body []byte) ([]byte, error)
}

// Config says what a [Prober] needs. Group must be given.
type Config struct {
	Group Group
	// Looks has this node connect to the members. Without, it only decides
	// what others report, where it leads.
	Looks bool
	// Every is how often a member is asked, Timeout how long it may take to
	// answer; 300 ms each.
	Every, Timeout time.Duration
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
}

// Method is the call by which a node tells the leader what it found.
const Method = "rmr.probe"

const (
	// workers is how many members are asked at a time.
	workers = 64
	// perSecond is how many are asked in a second at most: where there are more
	// than can be asked at each turn, a node has other things to do, too.
	perSecond = 1000
)

// Prober looks after the members of groups. Its methods are safe for
// concurrent use.
type Prober struct {
	config Config
	log    hclog.Logger
	dial   func(ctx context.Context, endpoint string) error

	mu       sync.Mutex
	members  *members
	opinions map[string]*opinion
	judge    *judge // nil unless this node leads
	most     bool
	problem  string
}

// New returns a Prober that does nothing before Run.
func New(config Config) *Prober {
	config.Every = cmp.Or(config.Every, 300*time.Millisecond)
	config.Timeout = cmp.Or(config.Timeout, 300*time.Millisecond)
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	return &Prober{config: config, log: config.Log, dial: connect, members: &members{}, opinions: map[string]*opinion{}}
}

// connect opens a connection to an endpoint and closes it.
func connect(ctx context.Context, endpoint string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return err
	}
	return c.Close()
}

// Handle answers the reports of other nodes; register it under [Method].
func (p *Prober) Handle(_ context.Context, from string, body []byte) ([]byte, error) {
	var r report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("report of node %s: %w", from, err)
	}
	p.hear(from, r)
	return nil, nil
}

func (p *Prober) hear(from string, r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge != nil {
		p.judge.reports[from] = heard{r, time.Now()}
	}
}

// Problem says in words what keeps members from being withdrawn, "" if
// nothing does.
func (p *Prober) Problem() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// Run looks, reports and decides until ctx ends. To look may take long, where
// many do not answer: what is known is reported meanwhile.
func (p *Prober) Run(ctx context.Context) error {
	var looking sync.WaitGroup
	defer looking.Wait()
	if p.config.Looks {
		looking.Go(func() { p.repeat(ctx, p.look) })
	}
	p.repeat(ctx, func(ctx context.Context) time.Duration {
		p.follow()
		p.tell(ctx)
		p.decide(ctx)
		return 0
	})
	return nil
}

// repeat does something every so often until ctx ends, and not sooner again than it says.
func (p *Prober) repeat(ctx context.Context, do func(context.Context) time.Duration) {
	for {
		began := time.Now()
		rest := time.NewTimer(time.Until(began.Add(max(do(ctx), p.config.Every))))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return
		}
	}
}

// follow has the members be those of the table in use.
func (p *Prober) follow() *members {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.config.Group.View().Routes.State().Table; t != p.members.table {
		p.members = membersOf(t)
		for e := range p.opinions {
			if !p.members.has(e) {
				delete(p.opinions, e)
			}
		}
	}
	return p.members
}

// look asks every member once, and returns how long that has to take.
func (p *Prober) look(ctx context.Context) time.Duration {
	m := p.follow()
	work := make(chan string)
	var asking sync.WaitGroup
	for range min(workers, len(m.endpoints)) {
		asking.Go(func() {
			for e := range work {
				p.ask(ctx, e)
			}
		})
	}
	for _, e := range m.endpoints {
		if ctx.Err() != nil {
			break
		}
		work <- e
	}
	close(work)
	asking.Wait()
	return time.Duration(len(m.endpoints)) * time.Second / perSecond
}

func (p *Prober) ask(ctx context.Context, endpoint string) {
	limited, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	err := p.dial(limited, endpoint)
	if ctx.Err() != nil {
		return // it says nothing of the endpoint
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.members.has(endpoint) {
		return // the table has changed meanwhile
	}
	o := p.opinions[endpoint]
	if o == nil {
		o = &opinion{}
		p.opinions[endpoint] = o
	}
	o.note(err, time.Now())
}

// tell reports to the leader.
func (p *Prober) tell(ctx context.Context) {
	leader := p.config.Group.LeaderID()
	if !p.config.Looks || leader == "" {
		return
	}
	r := p.report()
	if leader == p.config.Group.ID() {
		p.hear(leader, r)
		return
	}
	body, err := json.Marshal(r)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = p.config.Group.Call(limited, leader, Method, body)
	}
	if err != nil {
		p.log.Debug("the leader was not told of dead members", "leader", leader, "error", err)
	}
}

func (p *Prober) report() report {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := report{Settled: true}
	for _, e := range p.members.endpoints {
		o := p.opinions[e]
		r.Settled = r.Settled && o != nil && o.settled()
		if o != nil && o.dead {
			r.Dead = append(r.Dead, e)
		}
	}
	return r
}

// decide does the leader's part.
func (p *Prober) decide(ctx context.Context) {
	op := p.verdict()
	if len(op.Dead)+len(op.Alive) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := p.config.Group.Propose(limited, op, "probe"); err != nil {
		p.log.Debug("members found dead were not withdrawn", "error", err)
		return
	}
	if len(op.Dead) > 0 {
		p.log.Warn("withdrawn from tables, as they do not answer", "endpoints", some(op.Dead))
	}
	if len(op.Alive) > 0 {
		p.log.Info("taken back into tables", "endpoints", some(op.Alive))
	}
}

func (p *Prober) verdict() fsm.SetProbed {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.config.Group.IsLeader() {
		p.judge, p.problem = nil, ""
		return fsm.SetProbed{}
	}
	if p.judge == nil {
		p.judge = &judge{since: now, reports: map[string]heard{}}
	}
	op, most := p.judge.decide(p.members, p.config.Group.View().Distribution.Dead, now)
	p.problem = ""
	if most {
		p.problem = "over half of all endpoints that routes name seem dead: no more of them are withdrawn; look at the network between floe and the programs"
	}
	if most && !p.most {
		p.log.Warn(p.problem)
	}
	p.most = most
	return op
}

// some returns so many names as a line of a log bears.
func some(names []string) []string {
	if len(names) > 10 {
		return append(slices.Clone(names[:10]), fmt.Sprintf("and %d more", len(names)-10))
	}
	return names
}
