package delivery

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/topics"
)

// Receiver is one incarnation of a subscription, or of a link that leaves
// the graph: its queue, its outage and its sending end. All methods are safe
// for concurrent use and none blocks.
type Receiver struct {
	hub    *Hub
	log    hclog.Logger
	topic  topics.ID
	name   string // of the topic
	id     topics.Identity
	serial uint64
	proxy  []byte
	link   bool
	remote *topics.Remote // of a link
	exit   *exit          // of a link that leads to messages, else nil
	rules  Rules
	sender Sender

	mu       sync.Mutex
	queue    *Queue
	outage   Outage
	state    state
	told     bool // Ready was called and Rest did not yet report true
	episode  uint64
	timer    *time.Timer
	lastErr  error
	address  string
	lastOK   time.Time
	lastFail time.Time
	down     time.Time // when the outage began
}

// state is what a receiver is doing.
type state int

const (
	active    state = iota
	waiting         // in an outage, until the timer fires
	condemned       // the reaper has it
	closed
)

// Address notes where the receiver is reached, such as host:port. Receivers
// at one address count once when a node asks itself whether it is sick.
func (r *Receiver) Address(address string) {
	r.mu.Lock()
	r.address = address
	r.mu.Unlock()
}

// offer queues an event, or hands it on as a message.
func (r *Receiver) offer(ev *Event, now int64, b *Burst) {
	if r.exit != nil {
		r.leave(ev)
		return
	}
	r.mu.Lock()
	if r.state == closed {
		r.mu.Unlock()
		return
	}
	fits := r.queue.Offer(ev, now)
	ready := r.state == active && !r.told
	r.told = r.told || ready
	urge := r.queue.pressed()
	full := r.queue.counts.Dropped[QueueFull] > r.episode
	r.mu.Unlock()
	if ready {
		r.sender.Ready(b)
	}
	if urge {
		r.pressed(fits, full)
	}
}

// pressed deals with a queue that is half full or full.
func (r *Receiver) pressed(fits, full bool) {
	r.sender.Urge()
	if !fits {
		r.Fail(Failure{Class: Hard, Err: errQueueLimit})
	}
	if full {
		r.startEpisode()
	}
}

// startEpisode logs the first drop since the queue was last empty.
func (r *Receiver) startEpisode() {
	r.mu.Lock()
	first := r.episode != inEpisode
	r.episode = inEpisode
	err := r.lastErr
	r.mu.Unlock()
	if first {
		r.log.Warn("queue full, events are dropped", "topic", r.name, "receiver", r.label(), "last_error", err)
	}
}

// inEpisode is the value of Receiver.episode while events are being dropped;
// outside it is the number dropped so far.
const inEpisode = ^uint64(0)

// Take takes events to be sent; see [Queue.Take]. It takes none while the
// receiver is in an outage.
func (r *Receiver) Take(dst []*Event, maxEvents, maxBytes int) []*Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != active {
		return dst
	}
	return r.queue.Take(dst, maxEvents, maxBytes)
}

// Rest reports whether there is nothing to be taken. If so the sender may
// rest: it is told when that changes.
func (r *Receiver) Rest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != active {
		return true
	}
	if r.queue.Waiting() > 0 {
		return false
	}
	r.told = false
	r.endEpisode()
	return true
}

// Waiting returns the number of events that wait.
func (r *Receiver) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.Waiting()
}

// endEpisode logs how many events an episode of drops has cost.
func (r *Receiver) endEpisode() {
	if r.episode != inEpisode {
		return
	}
	r.episode = r.queue.counts.Dropped[QueueFull]
	r.log.Info("queue has room again", "topic", r.name, "receiver", r.label(), "dropped", r.episode)
}

// Done reports n events as delivered. It ends an outage.
func (r *Receiver) Done(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == closed {
		return
	}
	r.queue.Done(n)
	r.lastOK = r.hub.now()
	if !r.outage.Over() && r.state == active {
		r.outage.Success()
		r.hub.reaper.withdraw(r)
		r.log.Info("receiver works again", "topic", r.name, "receiver", r.label(), "link", r.link)
	}
}

// Lose reports n events as dropped.
func (r *Receiver) Lose(n int, reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != closed {
		r.queue.Lose(n, reason)
	}
}

// Return puts back events that were surely not executed, oldest first. They
// are the next to be taken.
func (r *Receiver) Return(events []*Event) {
	if len(events) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != closed {
		r.queue.Return(events, r.hub.nanos())
	}
}

// Fail reports a failed try. Depending on the receiver's rules it is then
// paused, and the sender told by Ready when to try again, or handed to the
// reaper.
func (r *Receiver) Fail(f Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.hub.now()
	f.Err = brief(f.Err)
	r.lastErr, r.lastFail = f.Err, now
	if r.state >= condemned || r.state == waiting && f.Class != Hard {
		return
	}
	first := r.outage.Over()
	next, remove := r.outage.Fail(now, f.Class == Hard, r.rules)
	if remove {
		r.condemn(f)
		return
	}
	if first {
		r.down = now
		r.log.Info("delivery fails, trying again", "topic", r.name, "receiver", r.label(), "link", r.link, "error", f.Err)
	}
	r.pause(next.Sub(now))
}

func (r *Receiver) condemn(f Failure) {
	r.stopTimer()
	r.state = condemned
	r.told = true
	r.hub.reaper.condemn(r, f)
}

// pause stops sending for a while.
func (r *Receiver) pause(d time.Duration) {
	r.state = waiting
	r.told = true
	r.stopTimer()
	r.timer = time.AfterFunc(d, r.resume)
}

func (r *Receiver) stopTimer() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

// resume ends a pause.
func (r *Receiver) resume() {
	r.mu.Lock()
	if r.state != waiting {
		r.mu.Unlock()
		return
	}
	r.state = active
	r.told = r.queue.counts.Queued > 0 // a sender may hold what it has to repeat
	ready := r.told
	r.mu.Unlock()
	if ready {
		r.sender.Ready(nil)
	}
}

// pardon puts a condemned receiver back to retrying.
func (r *Receiver) pardon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != condemned {
		return
	}
	now := r.hub.now()
	r.pause(r.outage.Pardon(now, r.rules).Sub(now))
}

// close ends the receiver and returns its final counts: what was queued or
// under way counts as dropped.
func (r *Receiver) close(reason Reason) Counts {
	r.mu.Lock()
	r.stopTimer()
	r.state = closed
	r.queue.Clear(reason)
	r.queue.Lose(int(r.queue.counts.Queued), reason)
	counts := r.queue.counts
	r.mu.Unlock()
	r.sender.Close()
	return counts
}

// urge asks the sender to hold nothing back.
func (r *Receiver) urge() { r.sender.Urge() }

// unsent returns how many events wait or are under way, and whether there is
// hope to send them soon.
func (r *Receiver) unsent() (n int, hope bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.queue.counts.Queued), r.state == active
}

// label names the receiver as Ice tools do.
func (r *Receiver) label() string {
	if r.id.Category == "" {
		return r.id.Name
	}
	return r.id.Category + "/" + r.id.Name
}
