package fsm

import "floe/topics"

// ProgramVersion is the newest cluster version this program can work with.
const ProgramVersion = 3

// Kind tells ops apart in a command. Numbers are never reused.
type Kind uint16

// The kinds of op, in the order they came.
const (
	KindInit Kind = iota + 1
	KindBarrier
	KindCreateTopic
	KindDestroyTopic
	KindLink
	KindUnlink
	KindSubscribe
	KindUnsubscribe
	KindReap
	KindBatch
	KindSetMember
	KindDropMember
	KindSetCluster
	KindDropCluster
	KindRaiseVersion
	KindChangeRoutes
	KindStageRoutes
	KindCommitRoutes
	KindRegisterApp
	KindForgetApps
	KindAckApps
	KindSetServing
	KindSetRelay
	KindSetProbed
	KindChangeFacts
	KindStageRestore
	KindCommitRestore
	KindSetToken
	KindDropToken
	KindSpendToken
	KindRevert
)

// Op is one change of the state, as the body of a [Command]. The op types of
// this package are the only ones.
type Op interface {
	// Kind returns the number the op travels under.
	Kind() Kind
	// apply changes the draft or refuses and leaves it as it was.
	apply(*draft) (Result, error)
}

// Init names the cluster. It is the first command of a new cluster's log and
// is refused ever after.
type Init struct {
	// ClusterID is a UUID.
	ClusterID string `codec:"id"`
	// Instance is the category of the cluster's Ice identities.
	Instance string `codec:"ice"`
	// Version is the cluster version to begin with.
	Version uint32 `codec:"v"`
}

// Barrier changes nothing. A leader proposes it so that the commit of what
// came before it reaches every disk.
type Barrier struct{}

// CreateTopic makes a topic; the result's Topic is its id.
type CreateTopic struct {
	Name string `codec:"n"`
}

// DestroyTopic removes a topic with its links and subscriptions. One that a
// route names is refused unless forced; the route stays.
type DestroyTopic struct {
	Name  string `codec:"n"`
	Force bool   `codec:"f,omitempty"`
}

// Link makes a link from a topic to another one of the graph (To) or to a
// target outside of it (Remote). With Replace a link that exists gets the new cost.
type Link struct {
	From    string         `codec:"f"`
	To      string         `codec:"t,omitempty"`
	Remote  *topics.Remote `codec:"r,omitempty"`
	Cost    int32          `codec:"c,omitempty"`
	Replace bool           `codec:"x,omitempty"`
}

// Unlink removes the link of a topic to the target of that identity.
type Unlink struct {
	From   string          `codec:"f"`
	Target topics.Identity `codec:"t"`
}

// Subscribe adds a subscription; the result's Serial is its incarnation.
type Subscribe struct {
	Topic        string              `codec:"t"`
	Subscription topics.Subscription `codec:"s"`
}

// Unsubscribe removes a subscription. Removing one that is not there is no
// error; the result's Count says how many were removed.
type Unsubscribe struct {
	Topic    string          `codec:"t"`
	Identity topics.Identity `codec:"i"`
}

// Reap removes subscriptions and links found dead. Each verdict names the
// incarnation it is about and is void for any other.
type Reap struct {
	Verdicts []Verdict `codec:"v"`
}

// Verdict says that one incarnation of a subscription or of a link outside
// the graph is dead, and why, for the log.
type Verdict struct {
	Topic    topics.ID       `codec:"t"`
	Identity topics.Identity `codec:"i"`
	Serial   uint64          `codec:"s"`
	Reason   string          `codec:"r,omitempty"`
}

// Batch applies its ops in order, all or none, at one index. The result
// carries one result for each op.
type Batch struct {
	Ops []Op
}

// SetMember records a node: its addresses and what its program can do. A
// Member whose incarnation is older than the recorded one is refused.
type SetMember struct {
	Member Member `codec:"m"`
}

// DropMember forgets a node that left or was removed.
type DropMember struct {
	ID string `codec:"id"`
}

// SetCluster records another floe cluster under a name of ours. A name that
// stands for another cluster id is refused.
type SetCluster struct {
	Cluster Peer `codec:"c"`
}

// DropCluster forgets another floe cluster. It is refused while a link leads there.
type DropCluster struct {
	Name string `codec:"n"`
}

// RaiseVersion raises the cluster version; lowering is refused.
type RaiseVersion struct {
	Version uint32 `codec:"v"`
}

// ChangeRoutes changes route table and MEID map, whole or not at all. A block
// that is a whole table replaces the loaded one. The result's Version is that
// of the routes after it, and its Count says how many keys and MEIDs changed;
// one that changes nothing leaves the version.
type ChangeRoutes struct {
	Blocks []RouteBlock `codec:"b"`
	If     Condition    `codec:"if"`
}

// StageRoutes is one part of a change that is too large for one log entry;
// see [RouteParts]. Nobody sees it before [CommitRoutes]. A load that is not
// committed is dropped after a number of further log entries, and refused
// once the routes changed.
type StageRoutes struct {
	// Load tells loads apart. It is drawn at random.
	Load uint64 `codec:"l"`
	// Part counts from 0, which begins the load.
	Part   int          `codec:"n,omitempty"`
	Blocks []RouteBlock `codec:"b"`
	// MEIDs is how many MEIDs the whole load names, said in its first part so
	// that there is room for them; 0 if unknown. It changes no outcome, and
	// programs that do not know it pass over it.
	MEIDs int `codec:"m,omitempty"`
}

// CommitRoutes makes a load of that many parts the routes, all at once. The
// result is like that of [ChangeRoutes]; an MEID that changed twice counts
// twice.
type CommitRoutes struct {
	Load  uint64    `codec:"l"`
	Parts int       `codec:"n"`
	If    Condition `codec:"if"`
}

// Kind returns the number the op travels under.
func (Init) Kind() Kind         { return KindInit }
func (Barrier) Kind() Kind      { return KindBarrier }
func (CreateTopic) Kind() Kind  { return KindCreateTopic }
func (DestroyTopic) Kind() Kind { return KindDestroyTopic }
func (Link) Kind() Kind         { return KindLink }
func (Unlink) Kind() Kind       { return KindUnlink }
func (Subscribe) Kind() Kind    { return KindSubscribe }
func (Unsubscribe) Kind() Kind  { return KindUnsubscribe }
func (Reap) Kind() Kind         { return KindReap }
func (Batch) Kind() Kind        { return KindBatch }
func (SetMember) Kind() Kind    { return KindSetMember }
func (DropMember) Kind() Kind   { return KindDropMember }
func (SetCluster) Kind() Kind   { return KindSetCluster }
func (DropCluster) Kind() Kind  { return KindDropCluster }
func (RaiseVersion) Kind() Kind { return KindRaiseVersion }
func (ChangeRoutes) Kind() Kind { return KindChangeRoutes }
func (StageRoutes) Kind() Kind  { return KindStageRoutes }
func (CommitRoutes) Kind() Kind { return KindCommitRoutes }
