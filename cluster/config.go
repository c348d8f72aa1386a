package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
)

// Caller calls a method of the process at an address (host:port). An error
// that has a method NotSent() bool which gives true says that no handler saw
// the request; one with ErrorCode() string came from the handler; any other
// leaves the outcome unknown. *wire.Client is one.
type Caller interface {
	Call(ctx context.Context, address, method string, body []byte) ([]byte, error)
}

// Server hands the calls of others to a handler. *wire.Port is one.
type Server interface {
	Serve(handler func(ctx context.Context, from net.Addr, method string, body []byte) ([]byte, error))
}

// Network is what a node needs of the network. [Node.Run] closes Raft and
// Gossip when it ends; the rest stays the owner's.
type Network struct {
	// Raft carries Raft's own connections. Its Addr is not used.
	Raft raft.StreamLayer
	// Gossip carries memberlist's packets and streams; nil means no gossip.
	Gossip memberlist.NodeAwareTransport
	// Caller and Server carry everything else.
	Caller Caller
	Server Server
	// Address is the host:port that others reach all of this at.
	Address string
}

// Timing is how fast a cluster notices that its leader is gone.
type Timing struct {
	// Election is Raft's heartbeat and election time-out.
	Election time.Duration
	// Gossip tunes memberlist: "lan" or "wan".
	Gossip string
}

// The choices of --timing.
var (
	LAN  = Timing{Election: 400 * time.Millisecond, Gossip: "lan"}
	Fast = Timing{Election: 200 * time.Millisecond, Gossip: "lan"}
	WAN  = Timing{Election: 2 * time.Second, Gossip: "wan"}
)

// ParseTiming reads "lan", "fast" or "wan".
func ParseTiming(name string) (Timing, error) {
	switch name {
	case "", "lan":
		return LAN, nil
	case "fast":
		return Fast, nil
	case "wan":
		return WAN, nil
	}
	return Timing{}, fmt.Errorf("timing %q is none of lan, fast, wan", name)
}

// noLeaderAfter is how long an operation waits without a leader before it
// says so: two election time-outs and a second, at most DefaultTimeout less
// the margin, the time to count who can be reached (askTime) included.
func (t Timing) noLeaderAfter() time.Duration {
	return min(2*t.Election+time.Second, DefaultTimeout-answerMargin) - t.askTime()
}

// answerMargin is how much earlier than its deadline an operation gives up,
// for the answer to arrive in time.
const answerMargin = 250 * time.Millisecond

// askTime is how long a node waits for the answers when it asks around.
func (t Timing) askTime() time.Duration {
	return min(max(t.Election, 300*time.Millisecond), time.Second)
}

// Defaults of [Config].
const (
	DefaultSnapshotThreshold = 8192
	DefaultSnapshotInterval  = 2 * time.Minute
	DefaultInstance          = "IceStorm"
	DefaultDiskStall         = 5 * time.Second
	// DefaultTimeout bounds an operation whose context has no deadline.
	DefaultTimeout = 5 * time.Second
)

// Config says how a node is opened. DataDir and Network are needed.
type Config struct {
	// DataDir is the data directory; it is made where it is missing.
	DataDir string
	// ID is the node's id. Empty: the stored one, or at the first start one made up.
	ID string
	// Network connects the node to others.
	Network Network
	// Addresses are the node's listeners as others reach them, apart from "peer",
	// which is Network.Address. See fsm.Member. SetAddresses changes them later.
	Addresses map[string][]string

	// Join names peer addresses (host:port) of the cluster to enter at the
	// first start; later they only say where others may be found. Empty: a
	// first start founds a cluster of one.
	Join []string
	// BootstrapExpect, with Join, is how many fresh nodes found a cluster together; 0: none do.
	BootstrapExpect int
	// JoinToken is shown where this node asks to join; "": none.
	JoinToken string
	// JoinByToken has this node, while it leads, take others by a token alone.
	// Without it that is so once the state has tokens that give rights.
	JoinByToken bool
	// NonVoter has a fresh node enter without a vote, for good.
	NonVoter bool
	// Instance is the category of the Ice identities of a cluster founded here.
	Instance string

	// Timing is LAN when zero.
	Timing Timing
	// SnapshotThreshold is how many entries make a snapshot worth while.
	SnapshotThreshold uint64
	// SnapshotInterval is how often that is looked at.
	SnapshotInterval time.Duration
	// DiskStall is how long a disk operation may take before the node falls
	// silent in Raft, and others elect where it led.
	DiskStall time.Duration
	// AutoRemove says when a leader removes silent nodes by itself.
	AutoRemove AutoRemove
	// ExitOnDiskError has Run end with a *logstore.FailedError at the
	// first error of the storage. Else the node goes on from memory.
	ExitOnDiskError bool
	// GossipKey encrypts gossip: 16, 24 or 32 bytes; nil sends it in the clear.
	// Once the secrets were changed, those of the data directory count.
	GossipKey []byte
	// Program is the version of the program, for people.
	Program string
	// Backend opens the log's database; nil is bbolt. Tests put faults here.
	Backend func(path string) (logstore.Backend, error)
	// FreeSpace says how many bytes may still be written on the file system
	// of a directory, and how large it is; nil asks the system. A seam for tests.
	FreeSpace func(dir string) (free, size uint64, err error)
	// Log receives what an operator should know; nil is silence.
	Log hclog.Logger
}

func (c Config) withDefaults() Config {
	set(&c.Instance, DefaultInstance)
	set(&c.Timing, LAN)
	set(&c.SnapshotThreshold, DefaultSnapshotThreshold)
	set(&c.SnapshotInterval, DefaultSnapshotInterval)
	set(&c.DiskStall, DefaultDiskStall)
	set(&c.AutoRemove.Min, 3)
	if c.FreeSpace == nil {
		c.FreeSpace = logstore.FreeSpace
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return c
}

// set gives *field its default where it has no value.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) check() error {
	switch {
	case c.DataDir == "":
		return errors.New("no data directory given")
	case c.Network.Raft == nil || c.Network.Caller == nil || c.Network.Server == nil || c.Network.Address == "":
		return errors.New("no network given")
	case c.BootstrapExpect < 0 || c.BootstrapExpect == 1:
		return fmt.Errorf("bootstrap-expect %d: needs 2 nodes or more; one node alone needs no such flag", c.BootstrapExpect)
	case c.BootstrapExpect > 0 && len(c.Join) == 0:
		return errors.New("bootstrap-expect needs a join list, which says where the other nodes are")
	case c.BootstrapExpect > 0 && c.NonVoter:
		return errors.New("bootstrap-expect founds a cluster of voters; a non-voter joins it later")
	}
	for _, address := range c.Join {
		if err := CheckAddress(address); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	return CheckID(c.ID)
}

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckID returns an error if a node can't have that id: 1 to 64 letters,
// digits, dots, underscores and hyphens, the first a letter or digit. Empty
// means "none given" and is fine.
func CheckID(id string) error {
	if id == "" || validID.MatchString(id) {
		return nil
	}
	return fmt.Errorf("node id %q: 1 to 64 letters, digits, '.', '_' and '-' are allowed, a letter or digit first", id)
}

// CheckAddress returns an error if text is not host:port.
func CheckAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("address %q is not host:port", text)
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 || host == "" {
		return fmt.Errorf("address %q is not host:port", text)
	}
	return nil
}
